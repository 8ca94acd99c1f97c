"""The contract of a summariser: what a verdict teaches, in words, for the memory."""

from abc import ABC, abstractmethod

from kernelmill.records.proposal import Draft, Proposal, Summary
from kernelmill.records.verdict import Verdict


class Summariser(ABC):
    """May be used from several threads at once."""

    @abstractmethod
    def summarise(self, proposal: Proposal, draft: Draft, verdict: Verdict) -> Summary:
        """Say what is to be learned from a judged draft; nothing where that cannot be said.

        Never raises: the memory has the bare facts in any case.
        """
