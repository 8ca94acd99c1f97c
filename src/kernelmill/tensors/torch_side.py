"""PyTorch side of the tensor exchange. Imported inside sandboxes only."""

import ctypes
import mmap
import os
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch

from kernelmill.records.tensors import Layout, Node, Tensor, lay_out
from kernelmill.tensors.blob import FILE_NAME


class WrittenTensors(NamedTuple):
    """A memory file with tensors, and its layout."""

    file: int
    layout: Layout


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def describe_value(value: Any, tensors: list[torch.Tensor]) -> Node:
    """The structure of a value; its tensors are appended to the list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return Node(tensor=len(tensors) - 1)
    if isinstance(value, dict):
        items = tuple(describe_value(item, tensors) for item in value.values())
        return Node(items=items, keys=tuple(str(key) for key in value))
    if isinstance(value, list | tuple):
        return Node(items=tuple(describe_value(item, tensors) for item in value))
    if value is None or isinstance(value, bool | int | float | str):
        return Node(scalar=value)
    raise TypeError(f"a {type(value).__name__} is neither a tensor, a scalar nor a container")


def restore_value(node: Node, tensors: Sequence[torch.Tensor]) -> Any:
    """The value with this structure and these tensors."""
    return node.restore(tensors)


def write(tensors: Sequence[torch.Tensor]) -> WrittenTensors:
    """Write tensors into a new memory file, and leave no writable mapping of it.

    Behind each of them is rubbish, as behind any tensor of a program.
    """
    layout = lay_out([(dtype_name(t.dtype), tuple(t.shape)) for t in tensors])
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, layout.bytes)
    with mmap.mmap(file, layout.bytes) as memory:
        # A view into the map must be gone before the map can close.
        for source, place in zip(tensors, layout.tensors, strict=True):
            if place.count:
                raw = source.detach().contiguous().view(-1).view(torch.uint8).numpy()
                memory[place.offset : place.offset + place.bytes] = raw.data
        for gap in layout.gaps():
            memory[gap] = os.urandom(gap.stop - gap.start)
    return WrittenTensors(file, layout)


_MADV_POPULATE_READ = 22
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class TensorView:
    """Tensors over a memory file that is mapped into this process."""

    def __init__(self, file: int, layout: Layout, writable: Collection[int]) -> None:
        """`writable` are the numbers of the tensors that may be written to. Writes are private:
        nothing reaches the file. Where nothing was written, later writes of others to it show."""
        address = _libc.mmap(None, layout.bytes, mmap.PROT_READ, mmap.MAP_PRIVATE, file, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap of tensors")
        for number in writable:
            _make_writable(address, layout.tensors[number])
        # Populate page tables now, not while the clock runs; older kernels ignore the request.
        _libc.madvise(address, layout.bytes, _MADV_POPULATE_READ)
        self.address: int = address
        self.bytes = layout.bytes
        self.tensors = [_tensor_at(address + t.offset, t) for t in layout.tensors]

    def close(self) -> None:
        """Unmap; no tensor of the view may be used after this."""
        self.tensors = []
        _libc.munmap(self.address, self.bytes)


def _make_writable(address: int, tensor: Tensor) -> None:
    """No other tensor lies in its pages."""
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    if tensor.bytes and _libc.mprotect(address + tensor.offset, tensor.bytes, protection):
        raise OSError(ctypes.get_errno(), "mprotect of tensors")


def _tensor_at(address: int, tensor: Tensor) -> torch.Tensor:
    dtype = getattr(torch, tensor.dtype)
    if tensor.count == 0:
        return torch.empty(tensor.shape, dtype=dtype)
    memory = (ctypes.c_char * tensor.bytes).from_address(address)
    return torch.frombuffer(memory, dtype=dtype).view(tensor.shape)
