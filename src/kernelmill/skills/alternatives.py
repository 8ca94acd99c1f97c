"""Which of a method's choices to take next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from kernelmill.generators.decisions import Choice, Decisions, was_tried


def next_choices(
    alternatives: Mapping[str, Sequence[Choice]], at_hand: Decisions, tried: Sequence[Decisions]
) -> Decisions:
    """The first of a method's choices that are not at hand and were not tried; else the first that
    are not at hand, else the first."""
    if not alternatives:
        return {}
    told = list(_combinations(alternatives))
    other = [one for one in told if any(at_hand.get(name) != one[name] for name in one)]
    fresh = [one for one in other if not was_tried(at_hand | one, tried)]
    return (fresh or other or told)[0]


def _combinations(alternatives: Mapping[str, Sequence[Choice]]) -> Iterator[Decisions]:
    for choices in product(*alternatives.values()):
        yield dict(zip(alternatives, choices, strict=True))
