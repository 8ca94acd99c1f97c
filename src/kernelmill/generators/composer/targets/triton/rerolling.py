"""Loop rerolling: launches that repeat, but for their arguments, become a loop over a table.

The loop makes the very same launches in the same order, so there is nothing to prove. Layers of a
network repeat so, and the steps of a loop over time that was unrolled when it was traced.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.targets.triton.sharing import Call

_LONGEST = 96
"""Launches of the longest body that is looked for."""
_LEAST_SAVED = 600
"""Characters that a loop has to save."""


class Loop(NamedTuple):
    """A loop over the rows of a table."""

    variables: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Code for every variable."""
    body: tuple[Call, ...]


Step = Call | Loop


def reroll(calls: Sequence[Call]) -> list[Step]:
    shapes: dict[object, int] = {}
    numbers = [shapes.setdefault(_shape(call), len(shapes)) for call in calls]
    steps: list[Step] = []
    at = 0
    while at < len(calls):
        repeat = max(_repeats(calls, numbers, at), key=lambda one: one.saved, default=None)
        if repeat is None or repeat.saved < _LEAST_SAVED:
            steps.append(calls[at])
            at += 1
        else:
            steps.append(repeat.loop)
            at += repeat.calls
    return steps


class _Repeat(NamedTuple):
    loop: Loop
    calls: int
    """How many it stands for."""
    saved: int
    """Characters."""


def _shape(call: Call) -> object:
    """The same for calls that differ in what is given to them alone."""
    return call.kernel, len(call.grid), tuple(call.options)


def _repeats(calls: Sequence[Call], shapes: Sequence[int], start: int) -> Iterator[_Repeat]:
    """Loops that begin with this call."""
    for period in range(1, min(_LONGEST, (len(calls) - start) // 2) + 1):
        end = start + period
        while end < len(calls) and shapes[end] == shapes[end - period]:
            end += 1
        times = (end - start) // period
        if times > 1:
            yield _repeat(calls[start : start + times * period], period)


def _repeat(calls: Sequence[Call], period: int) -> _Repeat:
    turns = [calls[at : at + period] for at in range(0, len(calls), period)]
    fields = [[text for call in turn for text in call.fields] for turn in turns]
    columns = list(zip(*fields, strict=True))
    varying = dict.fromkeys(column for column in columns if len(set(column)) > 1)
    names = {column: f"v{number}" for number, column in enumerate(varying)}
    written = iter(names.get(column, column[0]) for column in columns)
    body = tuple(call.with_fields(written) for call in turns[0])
    loop = Loop(tuple(names.values()), tuple(zip(*varying, strict=True)), body)
    saved = sum(map(_length, calls)) - sum(map(_length, body))
    saved -= sum(len(text) + 4 for row in loop.rows for text in row)
    return _Repeat(loop, len(calls), saved if names else 0)


def _length(call: Call) -> int:
    return len(call.kernel) + sum(len(text) + 16 for text in call.fields)
