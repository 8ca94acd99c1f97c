"""Tensors in memory that other processes can map. Used inside cells only."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from kernelmill.judge.cuda import driver
from kernelmill.judge.cuda.driver import DriverError, Mapping

_Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


class _Bytes:
    """What the framework needs to make a tensor over memory that is not its own."""

    def __init__(self, address: int, length: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (length,), "typestr": "|u1", "data": (address, False), "version": 2,
        }  # fmt: skip


def as_bytes(address: int, length: int, device: int) -> torch.Tensor:
    """A tensor of bytes over mapped device memory."""
    if length == 0:
        return torch.empty(0, dtype=torch.uint8, device=device)
    return torch.as_tensor(_Bytes(address, length), device=torch.device("cuda", device))


class Exported(NamedTuple):
    """Memory of this process that others may map."""

    address: int
    bytes: int
    file: int


class ExportingPool:
    """Where the framework takes its memory from while `in_use`: blocks that others can map."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._mappings: dict[int, Mapping] = {}
        self._unseen: list[Mapping] = []
        # The framework calls these through plain pointers: they must live as long as the pool.
        self._callbacks: tuple[Any, ...] = (_Allocate(self._allocate), _Free(self._free))
        allocate, free = (ctypes.cast(c, ctypes.c_void_p).value or 0 for c in self._callbacks)
        self._pool = torch.cuda.MemPool(torch._C._cuda_customAllocator(allocate, free))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with torch.cuda.use_mem_pool(self._pool, self._device):
            yield

    def export_new(self) -> list[Exported]:
        """Blocks that were not yet handed out."""
        new = [Exported(m.address, m.bytes, driver.export(m)) for m in self._unseen]
        self._unseen.clear()
        return new

    def _allocate(self, size: int, device: int, _stream: int) -> int:
        try:
            mapping = driver.allocate(size, device)
        except DriverError:
            return 0  # the framework makes an out-of-memory error of it
        self._mappings[mapping.address] = mapping
        self._unseen.append(mapping)
        return mapping.address

    def _free(self, address: int, _size: int, _device: int, _stream: int) -> None:
        mapping = self._mappings.pop(address, None)
        if mapping is not None:
            driver.release(mapping)
