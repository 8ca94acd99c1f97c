"""The contract of an auditor: a second look at candidates that the static rules let through."""

from abc import ABC, abstractmethod

from kernelmill.records.candidate import Candidate
from kernelmill.records.proposal import Audit, Proposal


class Auditor(ABC):
    """The second tier of the integrity gate. May be used from several threads at once."""

    @abstractmethod
    def audit(self, proposal: Proposal, candidate: Candidate) -> Audit:
        """Look for dishonest code that no static rule finds.

        Raises Unaffordable where the budget does not cover it, and GeneratorUnavailable where no
        candidate could be audited.
        """
