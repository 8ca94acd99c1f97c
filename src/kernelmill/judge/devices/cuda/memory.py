"""Tensors in device memory that another process can map. Used inside sandboxes only."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernelmill.judge.devices.cuda import driver
from kernelmill.judge.devices.cuda.free_list import FreeList
from kernelmill.records.tensors import Layout, Tensor

DEVICE = 0
"""A sandbox sees one device only."""
_Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


class _Bytes:
    """The interface by which the framework makes a tensor over memory that is not its own."""

    def __init__(self, address: int, length: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (length,), "typestr": "|u1", "data": (address, False), "version": 2,
        }  # fmt: skip


def as_bytes(address: int, length: int) -> torch.Tensor:
    """A tensor of bytes over mapped device memory."""
    device = torch.device("cuda", DEVICE)
    if length == 0:
        return torch.empty(0, dtype=torch.uint8, device=device)
    return torch.as_tensor(_Bytes(address, length), device=device)


def tensors_at(address: int, layout: Layout) -> list[torch.Tensor]:
    """The tensors of a layout over mapped device memory."""
    return [_tensor(address + tensor.offset, tensor) for tensor in layout.tensors]


def _tensor(address: int, tensor: Tensor) -> torch.Tensor:
    dtype = getattr(torch, tensor.dtype)
    return as_bytes(address, tensor.bytes).view(dtype).view(tensor.shape)


class SharedBlock:
    """A block of memory that other processes may map."""

    def __init__(self, size: int) -> None:
        self._mapping = driver.allocate(size, DEVICE)
        self.address, self.bytes = self._mapping.address, self._mapping.bytes

    def file(self) -> int:
        """A new open file for it."""
        return driver.export_mapping(self._mapping)


class ImportedBlock:
    """A shared block of another process, mapped in this one."""

    def __init__(
        self, file: int, size: int, owners_address: int = 0, writable: bool = True
    ) -> None:
        self._mapping = driver.import_mapping(file, size, DEVICE, writable)
        self._owners_address = owners_address
        self.address, self.bytes = self._mapping.address, size

    def translate(self, address: int, length: int) -> int | None:
        """The address in this process of a span at the owner's address; None if it is outside."""
        offset = address - self._owners_address
        inside = offset >= 0 and offset + length <= self.bytes
        return self.address + offset if inside else None

    def close(self) -> None:
        """Unmap it. No tensor over it may be used afterwards."""
        torch.cuda.synchronize()
        driver.unmap(self._mapping)


class Arena(SharedBlock):
    """A shared block that the framework allocates from, in this thread and while it is `in_use`."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._free_list = FreeList(self.address, self.bytes)
        # The framework calls these through raw pointers: they must live as long as the pool.
        self._callbacks: tuple[Any, ...] = (_Allocate(self._allocate), _Free(self._free))
        allocate, free = (ctypes.cast(c, ctypes.c_void_p).value or 0 for c in self._callbacks)
        self._pool = torch.cuda.MemPool(torch._C._cuda_customAllocator(allocate, free))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with torch.cuda.use_mem_pool(self._pool, DEVICE):
            yield

    def _allocate(self, size: int, _device: int, _stream: int) -> int:
        # The framework turns a null pointer into an out-of-memory error.
        return self._free_list.allocate(size) or 0

    def _free(self, address: int, size: int, _device: int, _stream: int) -> None:
        self._free_list.free(address, size)
