"""One call of a kernel: what the judge asks for, and what the program and the meter are told."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kernelmill.tasks.task import Kind
from kernelmill.tensors.layout import ALIGNMENT, Layout, Tensor

# As runtime/manifest.h has them.
_TENSORS_BEGIN = 0x20_0000_0000
MOST_TENSORS, MOST_RANK = 256, 16
_HEADER = struct.Struct("<5q")
_RECORD = struct.Struct(f"<3Qq{MOST_RANK}q")
_SIZE = _HEADER.size + MOST_TENSORS * _RECORD.size


class Call(msgspec.Struct, frozen=True):
    layout: Layout
    """Of the file with what is given."""
    inputs: tuple[int, ...]
    """Which of its tensors are the inputs, in the order of forward's arguments."""
    state: tuple[int, ...]
    outputs: tuple[Kind, ...]

    @property
    def given(self) -> list[Tensor]:
        return [self.layout.tensors[index] for index in (*self.inputs, *self.state)]

    def name(self, number: int) -> str:
        """The tensor with a number of the manifest, as kernels call it."""
        if number < len(self.inputs):
            return f"inputs[{number}]"
        number -= len(self.inputs)
        if number < len(self.state):
            return f"state[{number}]"
        return f"outputs[{number - len(self.state)}]"


class Placed(NamedTuple):
    tensor: Tensor
    address: int


def place(call: Call, made: Layout) -> list[Placed]:
    """Every tensor on pages of its own, with one to spare on either side."""
    found, address = [], _TENSORS_BEGIN
    for tensor in (*call.given, *made.tensors):
        found.append(Placed(tensor, address + ALIGNMENT))
        address += (-(-tensor.bytes // ALIGNMENT) + 2) * ALIGNMENT
    return found


def pack(given: int, outputs: int, call: Call, placed: Sequence[Placed]) -> bytes:
    header = _HEADER.pack(given, outputs, len(call.inputs), len(call.state), len(call.outputs))
    records = b"".join(
        _RECORD.pack(
            address,
            tensor.bytes,
            tensor.offset,
            len(tensor.shape),
            *tensor.shape,
            *(0 for _ in range(MOST_RANK - len(tensor.shape))),
        )
        for tensor, address in placed
    )
    return (header + records).ljust(_SIZE, b"\0")
