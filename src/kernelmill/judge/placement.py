"""Where contestants run: one thread a processor, before everybody else on the machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.sandbox import Cell

_USUAL, _CONTESTANT, _JUDGE = 0, 1, 2
"""Real-time priorities. The judge comes before those it judges."""


@contextmanager
def placed(cells: list[Cell], processors: list[int]) -> Iterator[None]:
    """Keep all cells on the same processors, and treat their threads alike, until the end.

    Left alone, the kernel's scheduler wakes the threads of a cell on one processor as often as
    not, and a contest would measure that. What waits for a processor all the same shows in
    `Timed.waited`.
    """
    everywhere = sorted(os.sched_getaffinity(0))
    for cell in cells:
        _pin(cell, processors)
        for thread in cell.threads():
            _set_priority(thread, _CONTESTANT)
    _set_priority(0, _JUDGE)
    try:
        yield
    finally:
        for thread in (thread for cell in cells for thread in cell.threads()):
            _set_affinity(thread, everywhere)
            _set_priority(thread, _USUAL)
        _set_priority(0, _USUAL)


def _pin(cell: Cell, processors: list[int]) -> None:
    """The main thread first, the others in turn behind it: every pool of threads spreads out."""
    others = processors[1:] or processors
    for index, thread in enumerate(sorted(set(cell.threads()) - {cell.pid})):
        _set_affinity(thread, [others[index % len(others)]])
    _set_affinity(cell.pid, processors[:1])


def _set_affinity(thread: int, processors: list[int]) -> None:
    try:
        os.sched_setaffinity(thread, processors)
    except (PermissionError, ProcessLookupError):
        pass  # it is where it is; `waited` tells if that hurts


def _set_priority(thread: int, priority: int) -> None:
    """Only where we may: an ordinary user's contest takes its turn like everything else."""
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except (PermissionError, ProcessLookupError):
        pass
