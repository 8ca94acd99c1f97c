"""Items that a composed kernel makes use of: those it follows, and those it avoids."""

from kernelmill.records.decisions import Choices, Decisions, is_open, same_choice
from kernelmill.records.proposal import Credit, Hint, Proposal


def credit_of(proposal: Proposal, decisions: Decisions, choices: Choices) -> Credit:
    """Credit for a kernel with these decisions, by the choices that were open for it."""
    shown = [(hint.item, hint) for hint in proposal.context if hint.item is not None]
    used = [item for item, hint in shown if _is_used(hint, decisions, choices)]
    return Credit(tuple(item for item, _ in shown), tuple(used))


def _is_used(hint: Hint, decisions: Decisions, choices: Choices) -> bool:
    """Whether it names an open decision, and the kernel does as it says: a kernel follows all that
    helped, and avoids a part of what did harm."""
    told = {name: one for name, one in hint.decisions.items() if is_open(name, one, choices)}
    if not told or hint.outcome is None:
        return False
    same = [same_choice(decisions[name], one) for name, one in told.items() if name in decisions]
    return all(same) if hint.outcome >= 0 else not all(same)
