"""CUDA driver calls that the framework does not wrap. Used inside sandboxes only.

All of them need the framework's context to be current, as it is once there is any tensor on the
device.
"""

import ctypes
import functools
import time
from typing import Any, NamedTuple

_PINNED, _ON_DEVICE, _AS_FILE = 1, 1, 1
_READ, _READ_WRITE = 1, 3
_RECOMMENDED = 1
_OUT_OF_MEMORY = 2
_ROOM_SECONDS = 10.0
_POLL_SECONDS = 0.1


class DriverError(Exception):
    """A call that the driver refused."""


class OutOfDeviceMemory(DriverError):
    """The device has no room for an allocation."""


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int)]


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    ]


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", _Location), ("rights", ctypes.c_int)]


class DeviceMapping(NamedTuple):
    """Device memory in this process's address space."""

    address: int
    bytes: int
    handle: int


@functools.cache
def _library() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(status, ctypes.byref(text))
        reason = text.value.decode() if text.value else str(status)
        kind = OutOfDeviceMemory if status == _OUT_OF_MEMORY else DriverError
        raise kind(f"{name}: {reason}")


def _properties(device: int) -> _Properties:
    return _Properties(_PINNED, _AS_FILE, _Location(_ON_DEVICE, device), None, 0)


@functools.cache
def granularity(device: int) -> int:
    """Sizes of exportable memory are multiples of this."""
    amount = ctypes.c_size_t()
    wanted = _properties(device)
    _call("cuMemGetAllocationGranularity", ctypes.byref(amount), ctypes.byref(wanted), _RECOMMENDED)
    return amount.value


def allocate(bytes_: int, device: int) -> DeviceMapping:
    """New memory that `export_mapping` can hand to another process."""
    size = -(-max(1, bytes_) // granularity(device)) * granularity(device)
    handle = ctypes.c_uint64()
    wanted = _properties(device)
    deadline = time.monotonic() + _ROOM_SECONDS
    while True:
        try:
            _call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size),
                  ctypes.byref(wanted), 0)  # fmt: skip
            break
        except OutOfDeviceMemory:  # a process that was killed may hold some for a moment
            if time.monotonic() > deadline:
                raise
        time.sleep(_POLL_SECONDS)
    return _map(handle.value, size, device, _READ_WRITE)


def export_mapping(mapping: DeviceMapping) -> int:
    """An open file for the memory, which another process can import."""
    file = ctypes.c_int()
    _call(
        "cuMemExportToShareableHandle",
        ctypes.byref(file), ctypes.c_uint64(mapping.handle), _AS_FILE, ctypes.c_uint64(0),
    )  # fmt: skip
    return file.value


def import_mapping(file: int, bytes_: int, device: int, writable: bool) -> DeviceMapping:
    """Map another process's memory. The file may be closed afterwards."""
    handle = ctypes.c_uint64()
    _call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(file), _AS_FILE)
    return _map(handle.value, bytes_, device, _READ_WRITE if writable else _READ)


def unmap(mapping: DeviceMapping) -> None:
    address, size = ctypes.c_uint64(mapping.address), ctypes.c_size_t(mapping.bytes)
    _call("cuMemUnmap", address, size)
    _call("cuMemAddressFree", address, size)
    _call("cuMemRelease", ctypes.c_uint64(mapping.handle))


class Speeds(NamedTuple):
    clock_khz: int
    memory_clock_khz: int
    memory_bits: int


def speeds(device: int) -> Speeds:
    """The highest clocks, and the width of the memory bus."""
    return Speeds(*(_attribute(number, device) for number in (13, 36, 37)))


def _attribute(number: int, device: int) -> int:
    value = ctypes.c_int()
    _call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
    return value.value


def reset_persisting_cache() -> None:
    """Return the lines of the L2 cache that were set aside for persisting accesses."""
    _call("cuCtxResetPersistingL2Cache")


def _map(handle: int, size: int, device: int, rights: int) -> DeviceMapping:
    address = ctypes.c_uint64()
    length, zero = ctypes.c_size_t(size), ctypes.c_uint64(0)
    try:
        _call(
            "cuMemAddressReserve",
            ctypes.byref(address), length, ctypes.c_size_t(0), zero, zero,
        )  # fmt: skip
        _call("cuMemMap", address, length, ctypes.c_size_t(0), ctypes.c_uint64(handle), zero)
        access = _Access(_Location(_ON_DEVICE, device), rights)
        _call("cuMemSetAccess", address, length, ctypes.byref(access), ctypes.c_size_t(1))
    except DriverError:
        _library().cuMemRelease(ctypes.c_uint64(handle))
        raise
    return DeviceMapping(address.value, size, handle)
