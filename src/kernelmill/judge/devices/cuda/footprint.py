"""What judging a task takes of the device's memory, by the sizes of its tensors alone.

Known before anything is allocated, so that there is room for a task before it begins.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from kernelmill.records.task import Task, TensorSpec
from kernelmill.records.tensors import item_size

CASES_SHARE = 1 / 8
"""Share of the device's memory that cases may hold between trials."""
REST_SHARE = 1 / 32
"""The same between verdicts."""
CONTEXT_BYTES = 1 << 30
"""What a process on the device takes without any tensor, with the workspaces of its libraries."""
LEAST_WORKSPACE = 8 << 30
"""A candidate may use this much memory in addition to its outputs, or several times what a call
moves, where there is room."""
_PROCESSES = 4
_LARGE_SHARE = 1 / 2
_LARGE_GIVEN = 2 << 30
_RING_CASES = 2
_ROUNDING = (
    "conv", "mm", "mv", "dot", "matmul", "linear", "attention", "lstm", "gru", "rnn", "cdist",
)  # fmt: skip
"""Parts of the names of operators that may multiply in less than float32."""
_LEAST_SLOTS = 2


class Footprint(NamedTuple):
    given: int
    """Bytes of inputs and state of the shown sizes."""
    outputs: int
    may_round: bool
    """Whether outputs are computed under other numerics as well."""

    @classmethod
    def of(cls, task: Task) -> "Footprint":
        given = (*task.shown.tensors, *task.state.values())
        outputs = sum(map(_bytes, task.outputs))
        return cls(sum(map(_bytes, given)), outputs, may_round(task.signature))

    @property
    def call(self) -> int:
        return self.given + self.outputs

    @property
    def ring_cases(self) -> int:
        """Cases that the inputs of timed calls are drawn from: one where two are large."""
        return 1 if self.given > _LARGE_GIVEN else _RING_CASES

    @property
    def making(self) -> int:
        """Making a case: what is given, the same in float64, outputs in float32, in float64 and in
        float64 on rounded inputs, and an intermediate result as large as the outputs."""
        return 3 * self.given + (8 if self.may_round else 7) * self.outputs

    @property
    def timing(self) -> int:
        """Eager with the outputs of its batch, and the examiner with one call of its own, each with
        intermediate results."""
        return (_LEAST_SLOTS + 2) * self.outputs + 2 * self.call

    def beside_runner(self, ring_bytes: int) -> int:
        """All that is on the device beside the memory of a candidate."""
        ring = ring_bytes + self.ring_cases * self.given
        return _PROCESSES * CONTEXT_BYTES + ring + max(self.making, self.timing)

    @property
    def needed(self) -> int:
        """The least that a verdict takes."""
        ring = _LEAST_SLOTS * self.given
        return self.beside_runner(ring) + _LEAST_SLOTS * self.outputs * 5 // 4 + LEAST_WORKSPACE

    def is_large(self, memory_bytes: int) -> bool:
        """Whether a verdict may need the memory that runners on standby hold."""
        return self.needed > memory_bytes * _LARGE_SHARE


def _bytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * item_size(spec.dtype)


def may_round(signature: Iterable[str]) -> bool:
    """Whether any of these operators may multiply in less than float32."""
    return any(part in operator for operator in signature for part in _ROUNDING)
