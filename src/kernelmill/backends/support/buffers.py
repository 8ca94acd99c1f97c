"""Memory of a traced call: its tensors and its allocations. Runs inside sandboxes only."""

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelmill.backends.support.launch_log import Buffer, Output
from kernelmill.records.tensors import Layout, item_size, lay_out
from kernelmill.tensors.blob import Blob

Bytes = npt.NDArray[np.uint8]
_POISON = 0xFF
"""Fills memory that nobody wrote: NaN in every floating-point type."""


class Buffers:
    """Copies of the call's tensors, which kernels may overwrite; then allocations, poisoned."""

    def __init__(self, file: int, layout: Layout, buffers: list[Buffer]) -> None:
        self._given = Blob(os.dup(file), layout)
        self.bytes: list[Bytes] = [
            _shared(self._tensor(index)) if index < len(layout.tensors) else _allocated(buffer)
            for index, buffer in enumerate(buffers)
        ]

    def mutated(self) -> int | None:
        """Index of the first of the call's tensors that was overwritten."""
        for index in range(len(self._given.layout.tensors)):
            if not np.array_equal(self._tensor(index), self.bytes[index]):
                return index
        return None

    def write(self, outputs: list[Output], file: int) -> None:
        """Write tensors of the buffers into a file, contiguously."""
        layout = lay_out([(output.dtype, output.shape) for output in outputs])
        os.ftruncate(file, layout.bytes)
        for output, place in zip(outputs, layout.tensors, strict=True):
            os.pwrite(file, np.ascontiguousarray(self.array(output)).tobytes(), place.offset)

    def array(self, place: Output) -> npt.NDArray[Any]:
        """A tensor as raw elements. Raises ValueError if it reaches beyond its buffer."""
        size = item_size(place.dtype)
        stored = self.bytes[place.buffer].view(f"V{size}")[place.offset :]
        last = sum((n - 1) * s for n, s in zip(place.shape, place.strides, strict=True))
        if 0 in place.shape:
            return stored[:0].reshape(place.shape)
        if last >= stored.size or min(place.strides, default=0) < 0:
            raise ValueError("a tensor beyond its buffer")
        return np.lib.stride_tricks.as_strided(
            stored, place.shape, [size * stride for stride in place.strides]
        )

    def close(self) -> None:
        self._given.close()

    def _tensor(self, index: int) -> Bytes:
        return self._given.array(index).reshape(-1).view(np.uint8)


def _allocated(buffer: Buffer) -> Bytes:
    size = buffer.count * item_size(buffer.dtype)
    return _shared(np.full(size, 0 if buffer.zeroed else _POISON, np.uint8))


def _shared(content: Bytes) -> Bytes:
    """A copy in memory that is shared with processes forked later."""
    memory = np.frombuffer(mmap.mmap(-1, max(1, content.size)), np.uint8)[: content.size]
    memory[:] = content
    return memory
