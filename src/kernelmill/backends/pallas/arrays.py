"""Tensors as arrays of JAX, which has no 64-bit types here: 32 bits take their place.

Used inside cells only.
"""

import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kernelmill.tensors.blob import FILE_NAME
from kernelmill.tensors.layout import Layout, Node, as_array, lay_out

_NARROWED = {"int64": "int32", "float64": "float32", "uint64": "uint32"}


class Written(NamedTuple):
    file: int
    layout: Layout


def jax_dtype(name: str) -> np.dtype[Any]:
    known: Any = ml_dtypes.bfloat16 if name == "bfloat16" else _NARROWED.get(name, name)
    dtype: np.dtype[Any] = np.dtype(known)
    return dtype


def read_arrays(file: int, layout: Layout) -> list[npt.NDArray[Any]]:
    memory = mmap.mmap(file, layout.bytes, mmap.MAP_SHARED, mmap.PROT_READ)
    return [_narrowed(memory, tensor) for tensor in layout.tensors]


def _narrowed(memory: mmap.mmap, tensor: Any) -> npt.NDArray[Any]:
    array = as_array(memory, tensor.dtype, tensor.shape, tensor.offset)
    wanted = jax_dtype(tensor.dtype)
    if tensor.dtype == "bfloat16":
        return array.view(wanted)
    narrow = array.astype(wanted, copy=False)
    if tensor.dtype == "int64" and not np.array_equal(narrow, array):
        raise OverflowError("an integer does not fit into 32 bits")
    return narrow


def write_arrays(arrays: Sequence[npt.NDArray[Any]]) -> Written:
    layout = lay_out([(array.dtype.name, array.shape) for array in arrays])
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, layout.bytes)
    with mmap.mmap(file, layout.bytes) as memory:
        for array, place in zip(arrays, layout.tensors, strict=True):
            raw = np.ascontiguousarray(array).tobytes()
            memory[place.offset : place.offset + place.bytes] = raw
    return Written(file, layout)


def restore(node: Node, tensors: Sequence[Any]) -> Any:
    if node.tensor is not None:
        return tensors[node.tensor]
    if node.items is None:
        return node.scalar
    items = [restore(item, tensors) for item in node.items]
    return items if node.keys is None else dict(zip(node.keys, items, strict=True))
