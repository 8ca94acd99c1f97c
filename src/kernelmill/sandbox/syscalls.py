"""System calls that Python has no wrapper for."""

import ctypes
import os
import platform
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_libc = ctypes.CDLL(None, use_errno=True)
_libc.process_vm_readv.restype = ctypes.c_ssize_t

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_REC = 0x4000
MS_PRIVATE = 0x40000

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MACHINE = platform.machine()


def check_result(result: int, what: str) -> int:
    """The result of a system call. Raises OSError where it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def unshare(flags: int) -> None:
    check_result(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    def encode(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    result = _libc.mount(
        encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(options)
    )
    check_result(result, f"mount {target}")


def prctl(option: int, argument: int = 0, pointer: object = 0) -> None:
    zero = ctypes.c_ulong(0)
    check_result(
        _libc.prctl(option, ctypes.c_ulong(argument), pointer, zero, zero), f"prctl {option}"
    )


def drop_capabilities() -> None:
    """Give up every capability, also those of root."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    check_result(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


_CAPABILITY_VERSION = 0x20080522


class _IoVector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


_MOST_VECTORS = 1024


def read_memory(pid: int, spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.uint8]:
    """The bytes of (address, length) spans of another process, one after the other."""
    table = _vectors(spans)
    result = np.empty(int(table[:, 1].sum()), np.uint8)
    target = result.ctypes.data
    for first in range(0, len(table), _MOST_VECTORS):
        part = table[first : first + _MOST_VECTORS]
        expected = int(part[:, 1].sum())
        local = _IoVector(target, expected)
        count = _libc.process_vm_readv(
            pid, ctypes.byref(local), ctypes.c_ulong(1), ctypes.c_void_p(part.ctypes.data),
            ctypes.c_ulong(len(part)), ctypes.c_ulong(0),
        )  # fmt: skip
        if check_result(count, "process_vm_readv") != expected:
            raise OSError(14, f"only {count} of {expected} bytes are mapped in process {pid}")
        target += expected
    return result


def _vectors(spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.uint64]:
    """An array of `struct iovec`: address and length of each span."""
    try:
        return np.asarray(spans, np.uint64).reshape(-1, 2)
    except OverflowError as error:
        raise OSError(14, "an address out of range") from error
