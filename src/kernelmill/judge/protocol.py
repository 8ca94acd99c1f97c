"""What judge and runner say to each other. Answers are decoded strictly: they come from anyone."""

from typing import Annotated

import msgspec

from kernelmill.tensors.layout import Layout, Node


class LoadRequest(msgspec.Struct):
    """Files: the constructor's tensors, the archive for its workshop, the artefacts in order."""

    sources: dict[str, str]
    artefacts: list[str]
    init_arguments: Node
    init_layout: Layout
    prebuilt_extensions: bool


class ReferenceRequest(msgspec.Struct):
    source: str
    scale: str
    seed: int
    compiled: bool = False


class Done(msgspec.Struct, tag="done"):
    """It worked, and there is nothing to say."""


class TrialRequest(msgspec.Struct):
    layout: Layout
    inputs: Node
    state: dict[str, int]
    poison: list[tuple[str, tuple[int, ...]]]
    watched: bool = True
    """Whether to note the framework operators called (a compiled model cannot be watched)."""


Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Address = Annotated[int, msgspec.Meta(ge=0, le=(1 << 62))]


class OutputTensor(msgspec.Struct):
    dtype: str
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    address: Address


class TrialDone(msgspec.Struct):
    outputs: Node
    tensors: list[OutputTensor]
    inputs_at: Address
    framework_calls: list[str]


class RingRequest(msgspec.Struct):
    layout: Layout
    inputs: Node
    slots: int
    slot_width: int
    state: dict[str, int]


class BatchDone(msgspec.Struct):
    pointers: list[list[Address]]
    """Per call, the address of every output tensor."""


class CaseMade(msgspec.Struct):
    """Files: inputs and state; expected outputs (eager's own, then float64)."""

    inputs: Node
    layout: Layout
    state: dict[str, int]
    outputs: Node
    expected: Layout
    precise: bool
