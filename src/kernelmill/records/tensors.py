"""Layout of tensors in a file, and the structure of values that contain them. No framework."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

ALIGNMENT = 4096
"""Every tensor starts on a page, so that no two share one."""

_NUMPY = {
    "float64": "f8",
    "float32": "f4",
    "float16": "f2",
    "bfloat16": "u2",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "uint8": "u1",
    "bool": "?",
}
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
HALF_TYPES = ("bfloat16", "float16")
LARGEST = {
    "float64": (2 - 2.0**-52) * 2.0**1023,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
}
"""The largest finite value of a type."""


class Tensor(msgspec.Struct, frozen=True):
    """One contiguous tensor in a file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    def __post_init__(self) -> None:
        if not is_supported(self.dtype):
            raise ValueError(f"tensors of type {self.dtype[:40]!r} are not supported")
        if min((self.offset, *self.shape)) < 0:
            raise ValueError("a tensor of negative size or offset")

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * item_size(self.dtype)


class Layout(msgspec.Struct, frozen=True):
    """Tensors of a file, and the size of the file."""

    tensors: tuple[Tensor, ...]
    bytes: int

    def gaps(self) -> Iterator[slice]:
        """Where bytes behind a tensor belong to none."""
        ends = [*(tensor.offset for tensor in self.tensors[1:]), self.bytes]
        for tensor, end in zip(self.tensors, ends, strict=False):
            if tensor.offset + tensor.bytes < end:
                yield slice(tensor.offset + tensor.bytes, end)


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that may hold tensors: a tensor by index, a scalar, or a container of nodes."""

    tensor: int | None = None
    scalar: bool | int | float | str | None = None
    items: "tuple[Node, ...] | None" = None
    keys: tuple[str, ...] | None = None
    """Keys of the items, where the value was a dictionary."""

    def tensors(self) -> list[int]:
        """Indices of the tensors in it, in order."""
        if self.items is not None:
            return [index for item in self.items for index in item.tensors()]
        return [] if self.tensor is None else [self.tensor]

    def restore(self, tensors: Sequence[Any]) -> Any:
        """The value, with these tensors in it."""
        if self.tensor is not None:
            return tensors[self.tensor]
        if self.items is None:
            return self.scalar
        items = [item.restore(tensors) for item in self.items]
        return items if self.keys is None else dict(zip(self.keys, items, strict=True))


def item_size(dtype: str) -> int:
    return np.dtype(_NUMPY[dtype]).itemsize


def is_supported(dtype: str) -> bool:
    return dtype in _NUMPY


def is_floating(dtype: str) -> bool:
    return dtype in EPSILON


def lay_out(specs: list[tuple[str, tuple[int, ...]]]) -> Layout:
    """Offsets for tensors of the given dtypes and shapes."""
    tensors, offset = [], 0
    for dtype, shape in specs:
        tensor = Tensor(dtype, shape, offset)
        tensors.append(tensor)
        offset += -(-max(1, tensor.bytes) // ALIGNMENT) * ALIGNMENT
    return Layout(tuple(tensors), max(offset, ALIGNMENT))


def as_array(buffer: Any, dtype: str, shape: tuple[int, ...], offset: int = 0) -> npt.NDArray[Any]:
    """A view of the bytes; bfloat16 appears as raw 16-bit integers (see `widen`)."""
    array = np.frombuffer(buffer, dtype=_NUMPY[dtype], count=math.prod(shape), offset=offset)
    return array.reshape(shape)


def widen(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.float64]:
    """The values as float64."""
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64, copy=False)
