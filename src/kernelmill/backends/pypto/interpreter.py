"""Results of the vendor's interpreter, read from where it keeps them.

The library hands them out after a simulation only, which takes several times as long. Its singleton
of program data begins with a vector of pointers to the call's tensors, and each of these with a
vector of bytes. Sizes are checked, so that another layout is an error and not a wrong result.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import pypto
import torch

_LIBRARY = Path(pypto.__file__).parent / "lib" / "libtile_fwk_interface.so"
_INSTANCE = "_ZN3npu8tile_fwk11ProgramData11GetInstanceEv"
_SHARED_POINTER_BYTES = 16


class LayoutError(Exception):
    """The library keeps its tensors in another way than the one that this was written for."""


class _Vector(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_void_p), ("end", ctypes.c_void_p))

    @property
    def bytes(self) -> int:
        return (self.end or 0) - (self.begin or 0)


def copy_results(tensors: Sequence[torch.Tensor]) -> None:
    """Give all tensors of the last call their interpreted values. Raises LayoutError."""
    program_data = getattr(ctypes.CDLL(str(_LIBRARY)), _INSTANCE)
    program_data.restype = ctypes.c_void_p
    kept = _Vector.from_address(program_data())
    if kept.bytes != _SHARED_POINTER_BYTES * len(tensors):
        raise LayoutError(f"{kept.bytes} bytes of pointers to {len(tensors)} tensors")
    for index, tensor in enumerate(tensors):
        pointer = ctypes.c_void_p.from_address(kept.begin + index * _SHARED_POINTER_BYTES)
        content = _Vector.from_address(pointer.value or 0)
        if content.bytes != tensor.nbytes:
            raise LayoutError(f"{content.bytes} bytes of a tensor of {tensor.nbytes}")
        ctypes.memmove(tensor.data_ptr(), content.begin, tensor.nbytes)
