"""Messages between the judge and its processes on a GPU, in addition to the common protocol."""

from typing import Annotated

import msgspec

from kernelmill.judge.compare import Comparison
from kernelmill.judge.protocol import OutputTensor, ReportedAddress, ReportedSize
from kernelmill.records.task import Constants, TensorSpec
from kernelmill.records.tensors import Layout, Node


class ShareRequest(msgspec.Struct):
    """Map the block of device memory that inputs are written to. Files: that block."""

    given_bytes: int


class ArenaShared(msgspec.Struct):
    """The block of device memory that all tensors of a runner are in. Files: that block."""

    address: ReportedAddress
    bytes: ReportedSize


class CaseRequest(msgspec.Struct):
    constants: Constants
    distribution: str
    seed: int
    tolerance: float
    signature: tuple[str, ...]
    """Operators of the task."""


class DeviceCaseMade(msgspec.Struct):
    inputs: Node
    layout: Layout
    """The layout of inputs, then state, in the block that inputs are written to."""
    state: dict[str, int]
    outputs: Node
    output_specs: tuple[TensorSpec, ...]
    bytes: int
    """Device memory that the case takes, expected outputs included."""


class RingMade(msgspec.Struct):
    """The ring of inputs for timed calls."""

    slots: int
    slot_width: int
    layout: Layout
    inputs: Node
    state: dict[str, int]
    """Indices of the state that all slots share."""
    parameters: dict[str, int]
    """Indices within a slot of the state that it has to itself."""
    given_bytes: int
    output_bytes: int
    """Bytes of the outputs of one call."""


class CompareRequest(msgspec.Struct):
    """Compare a runner's outputs for a case with the expected ones."""

    case: CaseRequest
    tensors: list[OutputTensor]


class CaseCompared(msgspec.Struct):
    foreign: int | None
    """Index of an output that is not in the runner's own memory."""
    changed: int | None
    """Index of an input that the candidate has changed."""
    outputs: list[Comparison]


class TimedCheckRequest(msgspec.Struct):
    """Compare outputs of a timed batch with the examiner's own, then overwrite all of them."""

    case: CaseRequest
    """The case whose error budgets apply."""
    outputs: list[OutputTensor]
    """Types and strides of the outputs."""
    pointers: list[list[int]]
    """The address of every output tensor, per call."""
    calls: list[int]
    """Numbers of the calls whose outputs are compared."""


class TimedCheck(msgspec.Struct):
    foreign: bool
    """Whether an output is not in the runner's own memory."""
    wrong: int
    compared: int
    """Number of elements compared."""
    norm: float
    """The largest error norm, as a share of the accepted one."""


class Hardware(msgspec.Struct):
    name: str
    memory_bytes: int
    cache_bytes: int
    bytes_per_ms: float
    """Peak memory bandwidth, by the memory's clock and width."""
    multiprocessors: int
    cycles_per_ms: float
    """The highest clock."""


class KernelSeen(msgspec.Struct):
    """One kernel in a profile."""

    name: str
    launches: ReportedSize
    nanoseconds: ReportedSize
    grid: ReportedSize
    block: ReportedSize
    registers: ReportedSize
    shared_bytes: ReportedSize
    occupancy: float | None
    spills: int | None


class Profiled(msgspec.Struct):
    kernels: list[KernelSeen]
    calls: Annotated[int, msgspec.Meta(ge=1)]
