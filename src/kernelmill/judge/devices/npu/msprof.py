"""The summary of operators that msprof writes: which ran, how often, and how long.

The candidate's own process makes it, so it is a hint and not evidence.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from kernelmill.records.task import Task
from kernelmill.records.verdict import DeviceDiagnosis, KernelUse, Latency, Profile

_Fields = dict[str | Any, str | Any]
_NAME, _KIND, _DURATION, _BLOCKS = "Op Name", "OP Type", "Task Duration(us)", "Block Dim"
_MOST_ROWS = 20_000
_MOST_KERNELS = 8
_NEUTRAL = frozenset({"TensorMove", "ZerosLike", "Fill", "MemSet", "N/A"})
"""Kinds of operators that run for allocations and for copies of views."""


class Operator(NamedTuple):
    """A kind of operator, summed over its launches."""

    kind: str
    launches: int
    microseconds: float
    blocks: int


def read_summary(text: str) -> list[Operator]:
    """The kinds of operators, those that took longest first. Lines of another form are left out."""
    found: dict[str, Operator] = {}
    for kind, microseconds, blocks in _rows(text):
        before = found.get(kind, Operator(kind, 0, 0.0, 0))
        found[kind] = Operator(
            kind, before.launches + 1, before.microseconds + microseconds,
            max(before.blocks, blocks),
        )  # fmt: skip
    return sorted(found.values(), key=lambda operator: -operator.microseconds)


def _readable(reader: Iterable[_Fields]) -> Iterator[_Fields]:
    """Rows up to the first that is no table."""
    try:
        yield from reader
    except csv.Error:
        return


class _Row(NamedTuple):
    kind: str
    microseconds: float
    blocks: int


def _rows(text: str) -> Iterator[_Row]:
    reader = csv.DictReader(io.StringIO(text.replace("\r", "\n").replace("\0", "")))
    for row in islice(_readable(reader), _MOST_ROWS):
        try:
            blocks = int(float(row.get(_BLOCKS) or 0))
            yield _Row(row.get(_KIND) or row[_NAME], float(row[_DURATION]), blocks)
        except (KeyError, TypeError, ValueError, OverflowError):
            continue


def profile_of(operators: list[Operator], own: tuple[str, ...], calls: int) -> Profile:
    """Shares of the candidate's own operators and of foreign ones."""
    total = sum(operator.microseconds for operator in operators)
    if total <= 0:
        return Profile(0, 0.0, 0.0, 0.0)
    mine = sum(one.microseconds for one in operators if one.kind in own)
    neutral = sum(one.microseconds for one in operators if one.kind in _NEUTRAL)
    foreign = total - mine - neutral
    launches = sum(operator.launches for operator in operators)
    return Profile(launches, mine / total, foreign / total, foreign / calls / 1e3)


def diagnosis_of(
    operators: list[Operator], calls: int, task: Task, latency: Latency
) -> DeviceDiagnosis | None:
    """The operators of a call; None where msprof saw none."""
    if not operators or latency.candidate_ms <= 0:
        return None
    total = sum(operator.microseconds for operator in operators) / calls / 1e3
    return DeviceDiagnosis(
        kernels=tuple(_use(operator, calls) for operator in operators[:_MOST_KERNELS]),
        busy=min(1.0, total / latency.candidate_ms),
        bandwidth=latency.floor_ms / latency.candidate_ms,
        arithmetic=latency.arithmetic_ms / latency.candidate_ms,
    )


def _use(operator: Operator, calls: int) -> KernelUse:
    return KernelUse(
        name=operator.kind[:120],
        launches=operator.launches / calls,
        microseconds=operator.microseconds / calls,
        grid=operator.blocks,
        block=1,
        registers=0,
        shared_bytes=0,
    )
