"""What the judge's side and the two cells of this backend say to each other."""

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


class Argument(msgspec.Struct):
    """Of a launch: a buffer from an element on, or a number."""

    buffer: int | None = None
    offset: int = 0
    number: int | float | bool | None = None


class KernelLaunch(msgspec.Struct):
    kernel: int
    """Which of the kernels."""
    grid: tuple[int, int, int]
    arguments: list[Argument]


class Output(msgspec.Struct):
    """A tensor that forward returned: where in which buffer it lies."""

    buffer: int
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Traced(msgspec.Struct):
    """What forward does for these shapes: launches, and nothing else."""

    kernels: list[str]
    """Each in Triton's intermediate form."""
    launches: list[KernelLaunch]
    buffers: list[Buffer]
    outputs: list[Output]


class RunRequest(msgspec.Struct):
    """File: the tensors of the call."""

    layout: Layout
    traced: Traced


class LaunchUse(msgspec.Struct):
    """What the model says of one launch."""

    kernel: str
    cycles: float
    bytes: int
    busy: dict[str, float]
    flags: int
    programs: int
    core: str
    local_bytes: dict[str, int]
    doubled: int


class Ran(msgspec.Struct):
    """File: the outputs."""

    uses: list[LaunchUse]
    mutated: int | None = None
    """The first tensor of the call that a kernel wrote to."""
