"""Decisions tried on a task, told apart by the code that comes of them."""

from collections.abc import Callable
from functools import cached_property

from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import Proposal

CodeOf = Callable[[Decisions], str]


class Tried:
    """As far as the proposal tells. What its hints say of other tasks was not tried on this one."""

    def __init__(self, proposal: Proposal, code_of: CodeOf) -> None:
        """`code_of` tells what comes of decisions: equal for equal code."""
        self._proposal = proposal
        self._code_of = code_of

    def __contains__(self, decisions: Decisions) -> bool:
        return self._code_of(decisions) in self._codes

    @cached_property
    def _codes(self) -> set[str]:
        parent, context = self._proposal.parent, self._proposal.context
        own = [hint.decisions for hint in context if hint.item is None]
        own += [parent.decisions] if parent is not None else []
        return {self._code_of(decisions) for decisions in own if decisions}
