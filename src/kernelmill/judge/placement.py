"""Pinning of runners to processors, one thread per processor, at a raised priority."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.sandbox import ConfinedProcess

_DEFAULT_PRIORITY, _RUNNER_PRIORITY, _JUDGE_PRIORITY = 0, 1, 2
"""Real-time priorities; the judge precedes the runners."""


@contextmanager
def judge_first() -> Iterator[None]:
    """Let this thread precede the runners inside the context."""
    _set_priority(0, _JUDGE_PRIORITY)
    try:
        yield
    finally:
        _set_priority(0, _DEFAULT_PRIORITY)


@contextmanager
def pinned(sandboxes: list[ConfinedProcess], processors: list[int]) -> Iterator[None]:
    """Keep all sandboxes on the same processors, with the same priority, inside the context."""
    everywhere = sorted(os.sched_getaffinity(0))
    for sandbox in sandboxes:
        pin(sandbox, processors)
    try:
        with judge_first():
            yield
    finally:
        for thread in (thread for sandbox in sandboxes for thread in sandbox.threads()):
            _set_affinity(thread, everywhere)
            _set_priority(thread, _DEFAULT_PRIORITY)


def pin(sandbox: ConfinedProcess, processors: list[int]) -> None:
    """Give the main thread the first processor, the others the rest in turn, and all a priority.

    Otherwise the scheduler often wakes several threads of a sandbox on one processor, and a timing
    would measure that. Threads that wait for a processor nevertheless are noticed by
    `Timed.waited`.
    """
    others = processors[1:] or processors
    for index, thread in enumerate(sorted(set(sandbox.threads()) - {sandbox.pid})):
        _set_affinity(thread, [others[index % len(others)]])
        _set_priority(thread, _RUNNER_PRIORITY)
    _set_affinity(sandbox.pid, processors[:1])
    _set_priority(sandbox.pid, _RUNNER_PRIORITY)


def _set_affinity(thread: int, processors: list[int]) -> None:
    try:
        os.sched_setaffinity(thread, processors)
    except (PermissionError, ProcessLookupError):
        pass  # it stays where it is; `Timed.waited` shows whether that disturbs


def _set_priority(thread: int, priority: int) -> None:
    """Set a real-time priority where this user may."""
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except (PermissionError, ProcessLookupError):
        pass
