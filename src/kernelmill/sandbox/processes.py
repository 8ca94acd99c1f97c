"""Readings from /proc: the state, descendants, threads and memory of processes."""

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ZOMBIE = "Z"
_EXIT_STATUS = 49
"""Position among the fields from the state on."""
_POLL_SECONDS = 2e-4


def stat_fields(pid: int, thread: int | None = None) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty where the process is gone.

    The state comes first, then the parent's pid: the command's name before them may contain
    blanks, so counting starts behind it.
    """
    folder = f"/proc/{pid}" if thread is None else f"/proc/{pid}/task/{thread}"
    try:
        with open(f"{folder}/stat") as stat:
            return stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def parent_of(pid: int) -> int | None:
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def descendants(root: int) -> Iterator[int]:
    """The processes below `root` that have not ended."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = stat_fields(int(name))
            except PermissionError:  # another user's process, where /proc hides those
                continue
            if fields and fields[0] != _ZOMBIE:
                parents[int(name)] = int(fields[1])
    for pid in parents:
        ancestor = parents.get(pid)
        while ancestor and ancestor != root:
            ancestor = parents.get(ancestor)
        if ancestor == root:
            yield pid


def children_of(pid: int) -> list[int]:
    """The direct children of a process that have not ended."""
    try:
        children = [child for thread in threads_of(pid) for child in _children(pid, thread)]
    except FileNotFoundError:  # a kernel without that file
        return [child for child in descendants(pid) if parent_of(child) == pid]
    return [child for child in children if stat_fields(child)[:1] not in ([], [_ZOMBIE])]


def _children(pid: int, thread: int) -> list[int]:
    with open(f"/proc/{pid}/task/{thread}/children") as children:
        return [int(child) for child in children.read().split()]


class OpenFile(NamedTuple):
    name: str
    """As the kernel names it."""
    flags: str
    """Flags of the open file, which all processes see that have inherited it."""


def open_files(pid: int) -> list[OpenFile]:
    folder = f"/proc/{pid}"
    try:
        numbers = sorted(os.listdir(f"{folder}/fd"), key=int)
        return [
            OpenFile(os.readlink(f"{folder}/fd/{number}"), _flags(f"{folder}/fdinfo/{number}"))
            for number in numbers
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _flags(path: str) -> str:
    with open(path) as lines:
        return next((line.split()[1] for line in lines if line.startswith("flags:")), "")


def wait_for_end(pid: int, seconds: float) -> int | None:
    """The exit status of a process that ends within this time and that nobody has waited for.

    None where there is none to be read.
    """
    deadline = time.monotonic() + seconds
    while fields := stat_fields(pid):
        if fields[0] == _ZOMBIE:
            return int(fields[_EXIT_STATUS])
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    return None


def threads_of(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        return []


def thread_count(pid: int) -> int:
    fields = stat_fields(pid)
    return int(fields[17]) if fields and fields[0] != _ZOMBIE else 0


class ResidentMemory(NamedTuple):
    """Resident memory of a process in bytes, as the kernel counts it."""

    peak: int
    """The most it ever was."""
    anonymous: int
    files: int
    """Pages of mapped files, without memory files."""


def resident_memory(pid: int) -> ResidentMemory | None:
    """None where the process is gone, or the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status if line.count(":") == 1)
        return ResidentMemory(
            *(int(fields[name].split()[0]) << 10 for name in ("VmHWM", "RssAnon", "RssFile"))
        )
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None


def private_resident_bytes(pid: int) -> int:
    """Resident memory without shared pages; 0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/statm") as statistics:
            _, resident, shared, *_ = statistics.read().split()
            return (int(resident) - int(shared)) * _PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return 0
