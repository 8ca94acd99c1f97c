"""Published figures of the Ascend 910B, for the backends that model it."""

from kernelmill.records.task import Task

ASCEND_HERTZ = 1.85e9
ASCEND_BYTES_PER_SECOND = 1.6e12
"""Bandwidth of global memory, which all cores share."""
CUBE_OPERATIONS_PER_CYCLE = 2 * 4096
"""Operations of one cube core in half precision."""
_TYPES = frozenset("float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split())


def lacking_types(task: Task) -> str:
    """Element types of a task's tensors that the chip does not have; empty if it has all."""
    specs = (*task.shown.tensors, *task.state.values(), *task.outputs)
    return ", ".join(sorted({spec.dtype for spec in specs} - _TYPES))
