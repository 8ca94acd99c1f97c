"""Seccomp filter that refuses system calls a confined process has no legitimate use for."""

import ctypes
import errno
import struct

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

# Name: numbers on (x86_64, aarch64); None where the architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51),
    "clone": (56, 220), "clone3": (435, 435), "connect": (42, 203), "delete_module": (176, 106),
    "execve": (59, 221), "execveat": (322, 281), "finit_module": (313, 273), "fork": (57, None),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "prctl": (157, 167),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218),
    "setns": (308, 268), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "socket": (41, 198), "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116),
    "io_setup": (206, 0), "io_submit": (209, 2), "io_pgetevents": (333, 292),
    "timer_create": (222, 107), "mq_notify": (244, 184), "fcntl": (72, 25),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "vfork": (58, None),
}  # fmt: skip
_FOR_PROGRAMS = frozenset({"clone", "clone3", "execve", "execveat", "fork", "vfork"})
"""Refused only where the policy forbids starting programs."""
_SPECIAL = frozenset({"clone", "clone3", "fcntl", "prctl"})
_AF_UNIX = 1
_F_SETSIG = 10
"""Like timer_create and mq_notify, a way to have the kernel send a process a SIGCONT."""
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def _instruction(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, k)


def _refuse(number: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def supported() -> bool:
    return MACHINE in _AUDIT_ARCH


def program(may_execute: bool, local_sockets: bool = False) -> bytes:
    """The filter as BPF instructions: refused calls return EPERM, all others are allowed.

    `local_sockets` may be created, not connected: the driver of a GPU listens on one of its own.
    """
    column = 0 if MACHINE == "x86_64" else 1
    numbers = {name: pair[column] for name, pair in _NUMBERS.items()}
    code = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH[MACHINE], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER_AT),
    ]
    if MACHINE == "x86_64":
        code += [_instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    for name, number in numbers.items():
        if number is None or name in _SPECIAL or (may_execute and name in _FOR_PROGRAMS):
            continue
        if name == "socket" and local_sockets:
            continue
        code += [_instruction(_JUMP_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    if local_sockets:
        code += _when(
            numbers["socket"],
            _FIRST_ARGUMENT_AT,
            [_instruction(_JUMP_EQUAL, _AF_UNIX, 1, 0), _refuse(errno.EPERM)],
        )
    code += _when(
        numbers["prctl"],
        _FIRST_ARGUMENT_AT,
        [_instruction(_JUMP_EQUAL, PR_SET_PDEATHSIG, 0, 1), _refuse(errno.EPERM)],
    )
    code += _when(
        numbers["fcntl"],
        _SECOND_ARGUMENT_AT,
        [_instruction(_JUMP_EQUAL, _F_SETSIG, 0, 1), _refuse(errno.EPERM)],
    )
    if not may_execute:
        # clone3 hides its flags behind a pointer; without it glibc falls back to clone.
        code += [_instruction(_JUMP_EQUAL, numbers["clone3"] or 0, 0, 1), _refuse(errno.ENOSYS)]
        code += _when(
            numbers["clone"],
            _FIRST_ARGUMENT_AT,
            [
                # A thread that waits for its child as vfork does cannot be stopped.
                _instruction(_JUMP_ANY_BIT, _CLONE_VFORK, 0, 1),
                _refuse(errno.EPERM),
                _instruction(_JUMP_ANY_BIT, _CLONE_THREAD, 1, 0),
                _refuse(errno.EPERM),
            ],
        )
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _when(number: int | None, argument_at: int, checks: list[bytes]) -> list[bytes]:
    """Run checks with one argument loaded, for one system call only."""
    body = [_instruction(_LOAD, argument_at), *checks]
    body.append(_instruction(_RETURN, _ALLOW))
    return [_instruction(_JUMP_EQUAL, number or 0, 0, len(body)), *body]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def restrict_syscalls(may_execute: bool, local_sockets: bool = False) -> None:
    """Install the filter for this process and its descendants. Needs no_new_privs."""
    instructions = program(may_execute, local_sockets)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    description = _Program(len(instructions) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(description))


def forbid_programs() -> None:
    """Refuse forking and executing to every thread of this process from now on."""
    instructions = program(may_execute=False, local_sockets=True)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    description = _Program(len(instructions) // 8, ctypes.addressof(buffer))
    number = _SECCOMP[MACHINE]
    check_result(syscall(number, _SET_FILTER, _ALL_THREADS, ctypes.byref(description)), "seccomp")
