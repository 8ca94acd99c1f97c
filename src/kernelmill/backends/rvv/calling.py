"""One call of a kernel, and the manifest that tells the program and the meter about it."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import ALIGNMENT, Layout, Tensor

# The same values as in runtime/manifest.h.
_TENSORS_BEGIN = 0x20_0000_0000
MAX_TENSORS, MAX_RANK = 256, 16
_HEADER = struct.Struct("<5q")
_RECORD = struct.Struct(f"<3Qq{MAX_RANK}q")
_SIZE = _HEADER.size + MAX_TENSORS * _RECORD.size


class EmulatedCall(msgspec.Struct, frozen=True):
    """A call of model_new. The tensors it reads come in one file."""

    layout: Layout
    """Layout of that file."""
    inputs: tuple[int, ...]
    """Indices of the inputs in the file, in the order of forward's arguments."""
    state: tuple[int, ...]
    """Indices of the parameters and buffers in the file."""
    outputs: tuple[TensorSpec, ...]

    @property
    def given(self) -> list[Tensor]:
        """Inputs, then state."""
        return [self.layout.tensors[index] for index in (*self.inputs, *self.state)]

    def name(self, number: int) -> str:
        """A kernel's expression for the tensor with this number in the manifest."""
        if number < len(self.inputs):
            return f"inputs[{number}]"
        number -= len(self.inputs)
        if number < len(self.state):
            return f"state[{number}]"
        return f"outputs[{number - len(self.state)}]"


class PlacedTensor(NamedTuple):
    tensor: Tensor
    address: int
    """Address in the emulated program."""


def place_tensors(call: EmulatedCall, outputs: Layout) -> list[PlacedTensor]:
    """Put every tensor on pages of its own, with a guard page on either side."""
    placed, address = [], _TENSORS_BEGIN
    for tensor in (*call.given, *outputs.tensors):
        placed.append(PlacedTensor(tensor, address + ALIGNMENT))
        address += (-(-tensor.bytes // ALIGNMENT) + 2) * ALIGNMENT
    return placed


def pack_manifest(
    given: int, outputs: int, call: EmulatedCall, placed: Sequence[PlacedTensor]
) -> bytes:
    """The bytes of `struct manifest`, for two open files."""
    header = _HEADER.pack(given, outputs, len(call.inputs), len(call.state), len(call.outputs))
    records = b"".join(
        _RECORD.pack(
            address,
            tensor.bytes,
            tensor.offset,
            len(tensor.shape),
            *tensor.shape,
            *(0 for _ in range(MAX_RANK - len(tensor.shape))),
        )
        for tensor, address in placed
    )
    return (header + records).ljust(_SIZE, b"\0")
