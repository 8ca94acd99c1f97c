"""Which decisions to take: from the context first, then the usual ones, then at random."""

import random
from collections.abc import Sequence

from kernelmill.generators.base import Choice, Decisions, Hint, Proposal
from kernelmill.generators.composer.decisions import CATALOGUE, is_choice, usual

_AS_THEY_ARE = 0.5
"""How often a draft without any context takes the usual choices."""
_TRIES = 20


def choose(proposal: Proposal, open_decisions: Sequence[str]) -> Decisions:
    """A choice for every open decision; the same again for the same proposal."""
    dice = random.Random(proposal.seed)
    start = {name: choice for name, choice in usual().items() if name in open_decisions}
    tried = [hint.decisions for hint in proposal.context if hint.decisions]
    if proposal.parent is not None:
        tried.append(proposal.parent.decisions)
        if proposal.parent.verdict.passed:
            start = _adopt(start, proposal.parent.decisions)
    advised = _advice(start, proposal.context)
    if advised != start and not _was_tried(advised, tried):
        return advised
    if proposal.seed == 0 or (not tried and dice.random() < _AS_THEY_ARE):
        return start
    return _explore(advised, tried, dice)


def _adopt(start: Decisions, other: Decisions) -> Decisions:
    return start | {
        name: choice for name, choice in other.items() if name in start and is_choice(name, choice)
    }


def _advice(start: Decisions, context: Sequence[Hint]) -> Decisions:
    """What worked best for others, one decision at a time, against what failed."""
    worth: dict[tuple[str, Choice], float] = {}
    for hint in context:
        for name, choice in hint.decisions.items():
            if name in start and is_choice(name, choice) and hint.outcome is not None:
                key = (name, choice)
                worth[key] = worth.get(key, 0.0) + hint.outcome
    advised = dict(start)
    for name in start:
        known = [(worth[key], str(key[1]), key[1]) for key in worth if key[0] == name]
        if known and max(known)[0] > worth.get((name, start[name]), 0.0):
            advised[name] = max(known)[2]
    return advised


def _was_tried(decisions: Decisions, tried: Sequence[Decisions]) -> bool:
    return any(
        all(before.get(name) == choice for name, choice in decisions.items()) for before in tried
    )


def _explore(start: Decisions, tried: Sequence[Decisions], dice: random.Random) -> Decisions:
    """Change one or two decisions into something that was not tried yet."""
    changed = dict(start)
    for _ in range(_TRIES):
        changed = dict(start)
        count = min(len(start), dice.choice((1, 1, 2)))
        for name in dice.sample(sorted(start), k=count):
            others = [choice for choice in CATALOGUE[name].choices if choice != start[name]]
            changed[name] = dice.choice(others)
        if not _was_tried(changed, tried):
            break
    return changed
