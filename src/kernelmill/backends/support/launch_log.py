"""Messages between a session and the program that traces a candidate's forward.

A trace is what forward comes down to: the buffers it allocates and the kernels it launches.
"""

import msgspec

from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Layout, Node


class TracerLoadRequest(msgspec.Struct):
    """Load a candidate and construct its ModelNew."""

    sources: dict[str, str]
    init_arguments: Node
    init_tensors: list[TensorSpec]


class CallTraceRequest(msgspec.Struct):
    """Trace a call with tensors of these types and shapes."""

    tensors: list[TensorSpec]
    """Inputs, then state."""
    inputs: Node
    state: dict[str, int]


class Buffer(msgspec.Struct):
    """Memory that kernels work in. The first buffers are the tensors of the call, in order."""

    dtype: str
    count: int
    zeroed: bool = False


class Output(msgspec.Struct):
    """A tensor in a buffer. Offset and strides count elements."""

    buffer: int
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Trace(msgspec.Struct, kw_only=True):
    """The trace of one call of forward. A backend adds its launches."""

    buffers: list[Buffer]
    outputs: list[Output]


def tensor_specs_of(layout: Layout) -> list[TensorSpec]:
    return [TensorSpec(tensor.dtype, tensor.shape) for tensor in layout.tensors]
