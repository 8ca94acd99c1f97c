"""Readings from /proc: the state, descendants, threads and memory of processes."""

import os
from collections.abc import Iterator

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ZOMBIE = "Z"


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


def threads_of(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        return []


def thread_count(pid: int) -> int:
    fields = stat_fields(pid)
    return int(fields[17]) if fields and fields[0] != _ZOMBIE else 0


def private_resident_bytes(pid: int) -> int:
    """Resident memory without shared pages; 0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/statm") as statistics:
            _, resident, shared, *_ = statistics.read().split()
            return (int(resident) - int(shared)) * _PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return 0
