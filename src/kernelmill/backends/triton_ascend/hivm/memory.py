"""The memories of a core, and views of them as HIVM describes them."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
CAPACITY = {"ub": 192 << 10, "cbuf": 512 << 10, "cc": 128 << 10}
"""Bytes of the unified buffer, L1 and L0C of a 910B core."""
_TYPES = {
    "f32": "f4", "f16": "f2", "bf16": "u2", "f64": "f8", "i64": "i8", "i32": "i4", "i16": "i2",
    "i8": "i1", "i1": "u1",
}  # fmt: skip
_POISON = 0xFF
"""Memory that nobody wrote: not a number in every floating-point type."""


class OutOfBounds(Exception):
    """A kernel reaches beyond a memory, or beyond a tensor."""


class Memory:
    """Bytes with a name; bits are kept a byte each, beside the bytes they would share."""

    def __init__(self, name: str, data: Array) -> None:
        self.name = name
        self.data = data
        self._bits: Array | None = None

    @classmethod
    def fresh(cls, name: str, size: int) -> "Memory":
        return cls(name, np.full(size, _POISON, np.uint8))

    @property
    def bits(self) -> Array:
        if self._bits is None:
            self._bits = np.zeros(8 * self.data.size, np.uint8)
        return self._bits


class View(NamedTuple):
    """A part of a memory: offset and strides in elements."""

    memory: Memory
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return -(-self.elements // 8) if self.dtype == "i1" else self.elements * self.item

    @property
    def item(self) -> int:
        return np.dtype(_TYPES[self.dtype]).itemsize

    def array(self) -> Array:
        """The elements as they are stored, in place. Raises OutOfBounds."""
        source = self.memory.bits if self.dtype == "i1" else self.memory.data
        size, item = source.size // self.item, self.item
        if self.elements:
            reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
            first = self.offset + sum(min(0, r) for r in reach)
            last = self.offset + sum(max(0, r) for r in reach)
            if first < 0 or last >= size:
                raise OutOfBounds(
                    f"elements {first} to {last} of {self.memory.name}, which has {size}"
                )
        flat = source[: size * item].view(_TYPES[self.dtype])
        if not self.elements:
            return flat[:0].reshape(self.shape)
        return np.lib.stride_tricks.as_strided(
            flat[self.offset :], self.shape, [s * item for s in self.strides]
        )

    def read(self) -> Array:
        """The values; bfloat16 as float32, bits as truth."""
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

    def reinterpret(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> "View":
        return View(self.memory, self.dtype, offset, shape, strides)

    def subview(
        self, offsets: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> "View":
        moved = sum(o * s for o, s in zip(offsets, self.strides, strict=True))
        strides = tuple(s * t for s, t in zip(self.strides, steps, strict=True))
        return View(self.memory, self.dtype, self.offset + moved, shape, strides)

    def keep(self, rank: int) -> "View":
        """Without as many dimensions of size 1, the first ones, as there are too many."""
        kept, spare = [], len(self.shape) - rank
        for index, size in enumerate(self.shape):
            if size == 1 and spare:
                spare -= 1
            else:
                kept.append(index)
        shape, strides = (tuple(part[i] for i in kept) for part in (self.shape, self.strides))
        return View(self.memory, self.dtype, self.offset, shape, strides)

    def collapse(self, groups: tuple[tuple[int, ...], ...]) -> "View":
        """A group becomes one dimension, with the stride of its innermost that is longer than 1."""
        shape = tuple(math.prod(self.shape[i] for i in group) for group in groups)
        strides = tuple(
            next((self.strides[i] for i in reversed(group) if self.shape[i] > 1), 1)
            for group in groups
        )
        return View(self.memory, self.dtype, self.offset, shape, strides)

    def expand(self, groups: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> "View":
        strides = [0] * len(shape)
        for outer, group in enumerate(groups):
            stride = self.strides[outer]
            for inner in reversed(group):
                strides[inner] = stride
                stride *= shape[inner]
        return View(self.memory, self.dtype, self.offset, shape, tuple(strides))


def packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major tensor without gaps."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
