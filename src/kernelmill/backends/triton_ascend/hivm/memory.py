"""Simulated memories of the chip, and HIVM's memrefs into them."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NumpyArray = npt.NDArray[Any]
CAPACITY = {"ub": 192 << 10, "cbuf": 512 << 10, "cc": 128 << 10}
"""Bytes of the unified buffer, L1 and L0C of a 910B core."""
_TYPES = {
    "f32": "f4", "f16": "f2", "bf16": "u2", "f64": "f8", "i64": "i8", "i32": "i4", "i16": "i2",
    "i8": "i1", "i1": "u1",
}  # fmt: skip
_POISON = 0xFF
"""Byte of uninitialised memory: NaN in every floating-point type."""


class OutOfBounds(Exception):
    """A kernel accesses elements outside of a memory or tensor."""


class SimulatedMemory:
    """A tensor in global memory or a memory of a core.

    Elements of type i1 are stored apart, one per byte.
    """

    def __init__(self, name: str, data: NumpyArray) -> None:
        self.name = name
        self.data = data
        self._bits: NumpyArray | None = None

    @classmethod
    def uninitialised(cls, name: str, size: int) -> "SimulatedMemory":
        return cls(name, np.full(size, _POISON, np.uint8))

    @property
    def bits(self) -> NumpyArray:
        if self._bits is None:
            self._bits = np.zeros(8 * self.data.size, np.uint8)
        return self._bits


class MemRef(NamedTuple):
    """A strided view of a memory; offset and strides are in elements."""

    memory: SimulatedMemory
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return -(-self.elements // 8) if self.dtype == "i1" else self.elements * self.item_size

    @property
    def item_size(self) -> int:
        return np.dtype(_TYPES[self.dtype]).itemsize

    def array(self) -> NumpyArray:
        """The elements as they are stored, in place. Raises OutOfBounds."""
        source = self.memory.bits if self.dtype == "i1" else self.memory.data
        size, item_size = source.size // self.item_size, self.item_size
        if self.elements:
            reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
            first = self.offset + sum(min(0, r) for r in reach)
            last = self.offset + sum(max(0, r) for r in reach)
            if first < 0 or last >= size:
                raise OutOfBounds(
                    f"elements {first} to {last} of {self.memory.name}, which has {size}"
                )
        flat = source[: size * item_size].view(_TYPES[self.dtype])
        if not self.elements:
            return flat[:0].reshape(self.shape)
        return np.lib.stride_tricks.as_strided(
            flat[self.offset :], self.shape, [s * item_size for s in self.strides]
        )

    def read(self) -> NumpyArray:
        """The values; bfloat16 as float32, i1 as bool."""
        stored = self.array()
        if self.dtype == "bf16":
            return (stored.astype(np.uint32) << 16).view(np.float32)
        return stored.astype(bool) if self.dtype == "i1" else stored

    def write(self, values: Any) -> None:
        """Rounds to nearest even where the type is narrower; shapes broadcast."""
        stored = self.array()
        if self.dtype == "bf16":
            wide = np.ascontiguousarray(np.asarray(values, np.float32)).view(np.uint32)
            values = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
        elif self.dtype == "i1":
            values = np.asarray(values, bool)
        with np.errstate(over="ignore", invalid="ignore"):
            stored[...] = values

    def reinterpret(
        self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> "MemRef":
        return MemRef(self.memory, self.dtype, offset, shape, strides)

    def subview(
        self, offsets: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> "MemRef":
        moved = sum(o * s for o, s in zip(offsets, self.strides, strict=True))
        strides = tuple(s * t for s, t in zip(self.strides, steps, strict=True))
        return MemRef(self.memory, self.dtype, self.offset + moved, shape, strides)

    def reduce_rank(self, rank: int) -> "MemRef":
        """Drops dimensions of size 1, the first ones first, until `rank` are left."""
        kept, surplus = [], len(self.shape) - rank
        for index, size in enumerate(self.shape):
            if size == 1 and surplus:
                surplus -= 1
            else:
                kept.append(index)
        shape, strides = (tuple(part[i] for i in kept) for part in (self.shape, self.strides))
        return MemRef(self.memory, self.dtype, self.offset, shape, strides)

    def collapse(self, groups: tuple[tuple[int, ...], ...]) -> "MemRef":
        """Merges each group into one dimension, with the stride of its innermost non-unit one."""
        shape = tuple(math.prod(self.shape[i] for i in group) for group in groups)
        strides = tuple(
            next((self.strides[i] for i in reversed(group) if self.shape[i] > 1), 1)
            for group in groups
        )
        return MemRef(self.memory, self.dtype, self.offset, shape, strides)

    def expand(self, groups: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> "MemRef":
        strides = [0] * len(shape)
        for outer, group in enumerate(groups):
            stride = self.strides[outer]
            for inner in reversed(group):
                strides[inner] = stride
                stride *= shape[inner]
        return MemRef(self.memory, self.dtype, self.offset, shape, tuple(strides))


def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
