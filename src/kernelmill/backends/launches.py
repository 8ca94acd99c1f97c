"""What a candidate's forward comes down to: buffers and launches, and how they are asked for."""

import msgspec

from kernelmill.tasks.task import Kind
from kernelmill.tensors.layout import Layout, Node


class LoadRequest(msgspec.Struct):
    sources: dict[str, str]
    init_arguments: Node
    init_tensors: list[Kind]


class TraceRequest(msgspec.Struct):
    """A call of these types and shapes."""

    tensors: list[Kind]
    """Inputs, then state."""
    inputs: Node
    state: dict[str, int]


class Buffer(msgspec.Struct):
    """Memory that kernels work in. The first ones are the tensors of the call, in order."""

    dtype: str
    count: int
    zeroed: bool = False


class Output(msgspec.Struct):
    """A tensor: where in which buffer it lies."""

    buffer: int
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Trace(msgspec.Struct, kw_only=True):
    """What forward does for some shapes; a backend adds its launches."""

    buffers: list[Buffer]
    outputs: list[Output]


def kinds_of(layout: Layout) -> list[Kind]:
    return [Kind(tensor.dtype, tensor.shape) for tensor in layout.tensors]
