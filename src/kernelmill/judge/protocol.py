"""Messages between judge and runner. Answers are decoded strictly: a runner is not trusted."""

import math
from typing import Annotated

import msgspec

from kernelmill.judge.compare import Conditioning
from kernelmill.records.numerics import Numerics
from kernelmill.records.tensors import Layout, Node, item_size


class CandidateRequest(msgspec.Struct):
    """Load a candidate.

    Files: the constructor's tensors, an archive of the compile cache, the artefacts in order.
    """

    sources: dict[str, str]
    artefacts: list[str]
    init_arguments: Node
    init_layout: Layout
    prebuilt_extensions: bool


class ReferenceRequest(msgspec.Struct):
    """Load a task's reference."""

    source: str
    scale: str
    seed: int
    compiled: bool = False
    numerics: Numerics = Numerics.IEEE


class TrialRequest(msgspec.Struct):
    """Call the model once."""

    layout: Layout
    inputs: Node
    state: dict[str, int]
    poison: list[tuple[str, tuple[int, ...]]]
    """Types and shapes of the memory to fill with rubbish and free before the call."""
    threads: int = 0
    """Number of threads to compute with from now on; 0 leaves it as it is."""
    spoiling: bool = False
    """Whether to change what the call leaves in memory of the model: see `OwnedMemory`."""
    watched: bool = True
    """Whether to log the framework operators called, which a compiled model does not allow."""


ReportedSize = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
ReportedAddress = Annotated[int, msgspec.Meta(ge=0, le=(1 << 62))]


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class OutputTensor(msgspec.Struct):
    """The place of one output in the memory of a runner."""

    dtype: str
    shape: tuple[ReportedSize, ...]
    strides: tuple[ReportedSize, ...]
    address: ReportedAddress

    @property
    def extent(self) -> int:
        """Bytes from its first element to its last."""
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * item_size(self.dtype)

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other, in the order of its indices."""
        return 0 in self.shape or all(
            size == 1 or stride == wanted
            for size, stride, wanted in zip(
                self.shape, self.strides, _contiguous(self.shape), strict=True
            )
        )

    def delivered(self, strides: tuple[int, ...]) -> "OutputTensor":
        """As timed calls deliver it: contiguous, or with the strides of the reference's own."""
        kept = self.is_contiguous or self.strides == strides
        return self if kept else msgspec.structs.replace(self, strides=_contiguous(self.shape))

    @property
    def overlaps_itself(self) -> bool:
        """Whether two of its elements may be one place in memory, as in an expanded tensor."""
        if 0 in self.shape:
            return False
        reach = 1
        for stride, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size > 1 and stride < reach:
                return True
            reach += (size - 1) * stride
        return False


class TrialDone(msgspec.Struct):
    outputs: Node
    tensors: list[OutputTensor]
    inputs_at: ReportedAddress
    framework_calls: list[str]
    spoiled: bool = False
    """Whether memory of the model that an earlier call had changed was changed once more."""


class RingRequest(msgspec.Struct):
    """Use these inputs for timed calls: `slots` times `slot_width` tensors, then shared state."""

    layout: Layout
    inputs: Node
    slots: int
    slot_width: int
    state: dict[str, int]
    """Indices of the state that all slots share."""
    parameters: dict[str, int] = {}
    """Indices within a slot of the parameters that it has to itself."""
    buffers: dict[str, int] = {}
    """The same of buffers."""
    strides: list[tuple[int, ...]] = []
    """Strides of the reference's outputs: those of calls have the same, or become contiguous. If
    there are none, calls may return what they like."""
    updated: list[str] = []
    """Those of the buffers that a call may change, in a copy of its own."""


class WarmUpRequest(msgspec.Struct):
    """Call the model once on a slot, and hold its outputs until the next time."""

    slot: int
    calls: int
    """Number of calls in the batch that follows, which shall find memory as a long-lived process
    does."""
    output_bytes: int
    """Bytes of the outputs of one call."""


class BatchDone(msgspec.Struct):
    pointers: list[list[ReportedAddress]]
    """The address of every output tensor, per call."""


class CaseMade(msgspec.Struct):
    """A new case.

    Files: inputs and state; expected outputs, eager's own and then those in float64.
    """

    inputs: Node
    layout: Layout
    state: dict[str, int]
    outputs: Node
    expected: Layout
    precise: bool
    """Whether the reference could be computed in float64."""
    conditioning: list[Conditioning]
    """Of every output."""
    strides: list[tuple[int, ...]] = []
    """Strides of the outputs as the reference returns them."""
    overlapping: list[int] = []
    """Outputs that the reference itself returns expanded."""
    updated: list[str] = []
    """Buffers that the call changes."""
