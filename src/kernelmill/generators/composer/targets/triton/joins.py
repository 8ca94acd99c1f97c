"""Values joined of many parts: stored part by part, instead of chosen from at every element.

Where one is the beginning of another, as the features of a densely connected block are, both lie
in the same memory, and no part is copied.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.ir.expressions import Expression
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import ZERO, add, mul
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import Joined, Value

_MOST_PARTS = 4
"""Parts to choose from at every element."""


def has_many_parts(value: Joined) -> bool:
    return len(value.inputs) > _MOST_PARTS


def starts_of(value: Joined) -> Iterator[Expression]:
    """Where each part begins: so many times a size, where as many parts have it."""
    counts: Counter[Extent] = Counter()
    for part in value.inputs:
        start: Expression = ZERO
        for extent, count in counts.items():
            start = add(start, mul(size(extent), count))
        yield start
        counts[part.shape[value.axis]] += 1


def longest_joined(results: Sequence[Value]) -> dict[int, Joined]:
    """The longest of the joined values that begin with all parts of one, by the id of this one."""
    alike: dict[tuple[int, int], list[Joined]] = {}
    for value in _joined(results):
        alike.setdefault((value.axis, id(value.inputs[0])), []).append(value)
    found: dict[int, Joined] = {}
    for values in alike.values():
        values.sort(key=lambda value: len(value.inputs), reverse=True)
        found |= {
            id(value): next(other for other in values if _begins(other, value)) for value in values
        }
    return found


def _begins(value: Joined, other: Joined) -> bool:
    """Whether a value begins with the parts of another."""
    pairs = zip(value.inputs, other.inputs, strict=False)
    return len(value.inputs) >= len(other.inputs) and all(one is same for one, same in pairs)


def _joined(results: Sequence[Value]) -> Iterator[Joined]:
    """All there are in what results are made of."""
    waiting, seen = list(results), set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        waiting += value.inputs
        if isinstance(value, Joined):
            yield value
