"""What the judge and its processes on a GPU say to each other, beside the common protocol."""

from typing import Annotated

import msgspec

from kernelmill.judge.protocol import Address, OutputTensor, Size
from kernelmill.tasks.task import Constants, Kind
from kernelmill.tensors.layout import Layout, Node


class ShareRequest(msgspec.Struct):
    """Files: the block that inputs are given in."""

    given_bytes: int


class ArenaShared(msgspec.Struct):
    """Files: the block that the runner's tensors lie in."""

    address: Address
    bytes: Size


class CaseRequest(msgspec.Struct):
    constants: Constants
    flavour: str
    seed: int
    tolerance: float


class CaseMade(msgspec.Struct):
    inputs: Node
    layout: Layout
    """Of inputs, then state, in the block they are given in."""
    state: dict[str, int]
    outputs: Node
    kinds: tuple[Kind, ...]
    """Of the outputs."""
    bytes: int
    """Of everything the examiner holds of it."""


class RingMade(msgspec.Struct):
    """Files: the block that inputs are given in."""

    slots: int
    layout: Layout
    inputs: Node
    state: dict[str, int]
    given_bytes: int
    answer_bytes: int
    """Of one call."""


class CompareRequest(msgspec.Struct):
    """Compare a runner's answers to a case with what is expected."""

    case: CaseRequest
    tensors: list[OutputTensor]


class Compared(msgspec.Struct):
    error: float
    wrong: int
    worst_absolute: float
    worst_relative: float
    box: str


class CaseCompared(msgspec.Struct):
    foreign: int | None
    """An output that is not in the runner's own memory."""
    changed: int | None
    """An input that is not as it was given."""
    outputs: list[Compared]


class AuditRequest(msgspec.Struct):
    """Compare timed answers with the examiner's own of the same batch; then ruin them all."""

    case: CaseRequest
    """Whose error budget holds."""
    outputs: list[OutputTensor]
    """How they lie in memory."""
    pointers: list[list[int]]
    calls: list[int]
    """Which of them to look at."""


class Audited(msgspec.Struct):
    foreign: bool
    """An answer is not in the runner's own memory."""
    wrong: int
    looked_at: int
    norm: float
    """The largest error norm, as a share of what a timed answer may have."""


class Hardware(msgspec.Struct):
    name: str
    memory_bytes: int
    cache_bytes: int
    bytes_per_ms: float
    """What the memory can move, by its clock and width."""
    multiprocessors: int
    cycles_per_ms: float
    """At the highest clock."""


class KernelSeen(msgspec.Struct):
    name: str
    launches: Size
    nanoseconds: Size
    grid: Size
    block: Size
    registers: Size
    shared_bytes: Size
    occupancy: float | None
    spills: int | None


class Profiled(msgspec.Struct):
    kernels: list[KernelSeen]
    calls: Annotated[int, msgspec.Meta(ge=1)]
