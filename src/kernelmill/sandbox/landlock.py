"""Landlock: rules for the files a process may read, write and execute."""

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from kernelmill.sandbox.syscalls import check_result, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of file system rights, counted from bit 0, by the ABI that introduced the last."""
_NET_RIGHTS = 0b11
_SCOPES = 0b11
"""Scoped to the sandbox: connections to abstract UNIX sockets, and signals."""


class _RulesetAttributes(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class PathRule(NamedTuple):
    """Grants a path to be read and executed, and also to be written where `write` is set."""

    path: str
    write: bool


def abi() -> int:
    """Landlock ABI version of this kernel; 0 where it has no Landlock."""
    return max(0, syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def _all_rights(version: int) -> int:
    count = max(n for known, n in _RIGHTS_BY_ABI.items() if known <= version)
    return (1 << count) - 1


def restrict_files(rules: Iterable[PathRule]) -> None:
    """Allow this process and its descendants only these paths. Needs no_new_privs."""
    version = abi()
    everything = _all_rights(version)
    attributes = _RulesetAttributes(
        fs=everything,
        net=_NET_RIGHTS if version >= 4 else 0,
        scoped=_SCOPES if version >= 6 else 0,
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = check_result(
        syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0),
        "landlock_create_ruleset",
    )
    try:
        for rule in rules:
            _add(ruleset, rule, everything)
        check_result(syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)


def _add(ruleset: int, rule: PathRule, everything: int) -> None:
    try:
        parent = os.open(rule.path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights = everything if rule.write else _EXECUTE | _READ_FILE | _READ_DIR
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _FILE_RIGHTS
        attributes = _PathBeneath(rights=rights & everything, parent=parent)
        check_result(
            syscall(
                _ADD_RULE, ctypes.c_int(ruleset), _RULE_PATH_BENEATH, ctypes.byref(attributes), 0
            ),
            f"landlock_add_rule {rule.path}",
        )
    finally:
        os.close(parent)
