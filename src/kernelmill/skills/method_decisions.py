"""Choice of the decisions that a method asks of the generator next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from kernelmill.records.decisions import Choice, Decisions, was_tried


def next_decisions(
    alternatives: Mapping[str, Sequence[Choice]], current: Decisions, tried: Sequence[Decisions]
) -> Decisions:
    """The first combination that differs from the current decisions and was not tried.

    If all were tried, the first that differs; if none differs, the first.
    """
    if not alternatives:
        return {}
    combinations = list(_combinations(alternatives))
    other = [one for one in combinations if any(current.get(name) != one[name] for name in one)]
    untried = [one for one in other if not was_tried(current | one, tried)]
    return (untried or other or combinations)[0]


def _combinations(alternatives: Mapping[str, Sequence[Choice]]) -> Iterator[Decisions]:
    for choices in product(*alternatives.values()):
        yield dict(zip(alternatives, choices, strict=True))
