"""Exchange of tensors as JAX arrays, with 32-bit types in place of 64-bit ones.

Used inside sandboxes only.
"""

import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kernelmill.records.tensors import Layout, as_array, lay_out
from kernelmill.tensors.blob import FILE_NAME

_NARROWED = {"int64": "int32", "float64": "float32", "uint64": "uint32"}


class WrittenArrays(NamedTuple):
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
        raise OverflowError("an int64 value does not fit into 32 bits")
    return narrow


def write_arrays(arrays: Sequence[npt.NDArray[Any]]) -> WrittenArrays:
    layout = lay_out([(array.dtype.name, array.shape) for array in arrays])
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, layout.bytes)
    with mmap.mmap(file, layout.bytes) as memory:
        for array, place in zip(arrays, layout.tensors, strict=True):
            raw = np.ascontiguousarray(array).tobytes()
            memory[place.offset : place.offset + place.bytes] = raw
    return WrittenArrays(file, layout)
