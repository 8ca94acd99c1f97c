"""A step of a search: how a strategy came to a proposal, for learning from its outcome."""

import msgspec

from kernelmill.records.sweep import TrialPlan


class SearchStep(msgspec.Struct, frozen=True):
    strategy: str
    """Name of the strategy that proposed it."""
    operator: str = ""
    """How the candidate is to be made from its parent: `edit`, `crossover`..."""
    island: int = 0
    target: str = ""
    """The behaviour cell that it is to reach; empty: any."""
    partner: int | None = None
    """The attempt that a crossover takes something from."""
    intent: str = ""
    """Name of the intent that it implements."""
    predicted: float | None = None
    """Logarithm of the speed-up over the parent that the intent was expected to bring."""
    difficulty: float | None = None
    """Probability that its implementation is refused, as expected."""
    trial: TrialPlan | None = None
    """The combination of a sweep that it measures."""
