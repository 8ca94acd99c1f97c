"""Tensors in device memory that another process can map. Used inside cells only."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernelmill.judge.cuda import driver
from kernelmill.judge.cuda.gaps import Gaps
from kernelmill.tensors.layout import Layout, Tensor

DEVICE = 0
"""A cell sees one device only."""
_Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


class _Bytes:
    """What the framework needs to make a tensor over memory that is not its own."""

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
    return [_tensor(address + place.offset, place) for place in layout.tensors]


def _tensor(address: int, place: Tensor) -> torch.Tensor:
    dtype = getattr(torch, place.dtype)
    return as_bytes(address, place.bytes).view(dtype).view(place.shape)


class Shared:
    """A block of memory that other processes may map."""

    def __init__(self, size: int) -> None:
        self._mapping = driver.allocate(size, DEVICE)
        self.address, self.bytes = self._mapping.address, self._mapping.bytes

    def file(self) -> int:
        """A new open file that stands for it."""
        return driver.export(self._mapping)


class Adopted:
    """Another process's block, mapped here."""

    def __init__(
        self, file: int, size: int, owners_address: int = 0, writable: bool = True
    ) -> None:
        self._mapping = driver.adopt(file, size, DEVICE, writable)
        self._owners_address = owners_address
        self.address, self.bytes = self._mapping.address, size

    def here(self, address: int, length: int) -> int | None:
        """Where a span of the owner's addresses lies in this process; None if it is not in it."""
        offset = address - self._owners_address
        inside = offset >= 0 and offset + length <= self.bytes
        return self.address + offset if inside else None

    def close(self) -> None:
        """No tensor over it may be used after this."""
        torch.cuda.synchronize()
        driver.release(self._mapping)


class Arena(Shared):
    """A shared block that the framework takes all memory of this thread from while `in_use`."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._gaps = Gaps(self.address, self.bytes)
        # The framework calls these through plain pointers: they must live as long as the pool.
        self._callbacks: tuple[Any, ...] = (_Allocate(self._allocate), _Free(self._free))
        allocate, free = (ctypes.cast(c, ctypes.c_void_p).value or 0 for c in self._callbacks)
        self._pool = torch.cuda.MemPool(torch._C._cuda_customAllocator(allocate, free))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with torch.cuda.use_mem_pool(self._pool, DEVICE):
            yield

    def _allocate(self, size: int, _device: int, _stream: int) -> int:
        # Where there is no room, the framework makes an out-of-memory error of the null pointer.
        return self._gaps.take(size) or 0

    def _free(self, address: int, size: int, _device: int, _stream: int) -> None:
        self._gaps.give_back(address, size)
