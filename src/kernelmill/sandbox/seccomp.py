"""Seccomp filter that refuses system calls a confined process has no legitimate use for."""

import ctypes
import errno
import struct
from typing import NamedTuple

from kernelmill.sandbox.syscall_numbers import LEAVING_TRACES, NEEDLESS, NUMBERS
from kernelmill.sandbox.syscalls import (
    MACHINE,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    check_result,
    prctl,
    syscall,
)

_MODE_FILTER = 2
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _ALL_THREADS = 1, 1
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_THREAD = 0x00010000
_CLONE_VFORK = 0x00004000
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_FOR_PROGRAMS = frozenset({"clone", "clone3", "execve", "execveat", "fork", "vfork"})
"""Refused only where the policy forbids starting programs."""
_AF_UNIX = 1
_F_SETSIG = 10
"""Like timer_create and mq_notify, a way to have the kernel send a process a SIGCONT."""
_TRACES_BY_FCNTL = (6, 7, 8, 15, 37, 38, 1024, 1026, 1031, 1033, 1036, 1038)
"""Locks, owners, leases, notes, pipe sizes, seals and hints, which files keep."""
_TRACES_BY_IOCTL = (0x5452, 0x8901, 0x8902)
"""Owners of files (FIOASYNC, FIOSETOWN, SIOCSPGRP)."""
_MAP_SHARED = 1
_FORK_FLAGS = 0x012000FF
"""Bits of `clone` that a plain fork may have: its end's signal, and where its thread id goes."""
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT, _FOURTH_ARGUMENT_AT = (
    0,
    4,
    16,
    24,
    40,
)

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def _instruction(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, k)


def _refuse(number: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def supported() -> bool:
    return MACHINE in _AUDIT_ARCH


class SyscallGrants(NamedTuple):
    """Kinds of system calls that are granted beyond those of a plain computation."""

    programs: bool = False
    """Forking, and executing programs."""
    local_sockets: bool = False
    """Sockets may be created, not connected: the driver of a GPU listens on one of its own."""
    traces: bool = True
    """What outlives the caller in the kernel: shared memory, pipes, file attributes, signals,
    priorities. Where it is refused, a plain fork is granted: it can leave nothing behind."""


def program(grants: SyscallGrants) -> bytes:
    """The filter as BPF instructions: refused calls return EPERM, all others are allowed."""
    column = 0 if MACHINE == "x86_64" else 1
    numbers = {name: pair[column] for name, pair in NUMBERS.items()}
    code = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH[MACHINE], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER_AT),
    ]
    if MACHINE == "x86_64":
        code += [_instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    for name in _refused(grants):
        code += _refused_call(numbers[name])
    if grants.local_sockets:
        code += _when(
            numbers["socket"],
            _FIRST_ARGUMENT_AT,
            [_instruction(_JUMP_EQUAL, _AF_UNIX, 1, 0), _refuse(errno.EPERM)],
        )
    code += _refused_values(numbers["prctl"], _FIRST_ARGUMENT_AT, (PR_SET_PDEATHSIG,))
    fcntl_traces = () if grants.traces else _TRACES_BY_FCNTL
    code += _refused_values(numbers["fcntl"], _SECOND_ARGUMENT_AT, (_F_SETSIG, *fcntl_traces))
    if not grants.traces:
        code += _refused_traces(numbers)
    if not grants.programs:
        code += _refused_processes(numbers, forks=not grants.traces)
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _refused(grants: SyscallGrants) -> list[str]:
    """Names of the calls that are refused whatever their arguments."""
    names = set(NEEDLESS)
    if not grants.programs:
        names |= _FOR_PROGRAMS - {"clone", "clone3"}
    if not grants.traces:
        names |= LEAVING_TRACES
    if grants.local_sockets:
        names.remove("socket")
    return sorted(names)


def _refused_call(number: int | None) -> list[bytes]:
    if number is None:
        return []
    return [_instruction(_JUMP_EQUAL, number, 0, 1), _refuse(errno.EPERM)]


def _refused_values(number: int | None, argument_at: int, values: tuple[int, ...]) -> list[bytes]:
    """Refuse one system call where an argument has one of these values."""
    checks = []
    for value in values:
        checks += [_instruction(_JUMP_EQUAL, value, 0, 1), _refuse(errno.EPERM)]
    return _when(number, argument_at, checks)


def _refused_traces(numbers: dict[str, int | None]) -> list[bytes]:
    """What depends on arguments: shared mappings, other processes' limits, files' owners."""
    shared = [_instruction(_JUMP_ANY_BIT, _MAP_SHARED, 0, 1), _refuse(errno.EPERM)]
    others = [_instruction(_JUMP_EQUAL, 0, 1, 0), _refuse(errno.EPERM)]
    return [
        *_when(numbers["mmap"], _FOURTH_ARGUMENT_AT, shared),
        *_when(numbers["prlimit64"], _FIRST_ARGUMENT_AT, others),
        *_refused_values(numbers["ioctl"], _SECOND_ARGUMENT_AT, _TRACES_BY_IOCTL),
    ]


def _refused_processes(numbers: dict[str, int | None], forks: bool) -> list[bytes]:
    """Threads are granted; plain forks where `forks` says so; no other process."""
    other_bits = 0xFFFFFFFF & ~_FORK_FLAGS
    last_check = [_instruction(_JUMP_ANY_BIT, other_bits, 0, 1)] if forks else []
    return [
        # clone3 hides its flags behind a pointer; without it glibc falls back to clone.
        _instruction(_JUMP_EQUAL, numbers["clone3"] or 0, 0, 1),
        _refuse(errno.ENOSYS),
        *_when(
            numbers["clone"],
            _FIRST_ARGUMENT_AT,
            [
                # A thread that waits for its child as vfork does cannot be stopped.
                _instruction(_JUMP_ANY_BIT, _CLONE_VFORK, 0, 1),
                _refuse(errno.EPERM),
                _instruction(_JUMP_ANY_BIT, _CLONE_THREAD, len(last_check) + 1, 0),
                *last_check,
                _refuse(errno.EPERM),
            ],
        ),
    ]


def _when(number: int | None, argument_at: int, checks: list[bytes]) -> list[bytes]:
    """Run checks with one argument loaded, for one system call only."""
    body = [_instruction(_LOAD, argument_at), *checks]
    body.append(_instruction(_RETURN, _ALLOW))
    return [_instruction(_JUMP_EQUAL, number or 0, 0, len(body)), *body]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def restrict_syscalls(grants: SyscallGrants) -> None:
    """Install the filter for this process and its descendants. Needs no_new_privs."""
    instructions = program(grants)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    description = _Program(len(instructions) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(description))


def forbid_programs() -> None:
    """Refuse forking and executing to every thread of this process from now on."""
    instructions = program(SyscallGrants(local_sockets=True))
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    description = _Program(len(instructions) // 8, ctypes.addressof(buffer))
    number = _SECCOMP[MACHINE]
    check_result(syscall(number, _SET_FILTER, _ALL_THREADS, ctypes.byref(description)), "seccomp")
