"""Settings of a judge: strictness, limits and the processors it uses."""

import os

import msgspec

from kernelmill.sandbox import ResourceLimits


class JudgeSettings(msgspec.Struct, frozen=True):
    threads: int = len(os.sched_getaffinity(0))
    """Threads of the candidate, and of every baseline."""
    processors: tuple[int, ...] = ()
    """Processors that runners use; empty for all that this process may use."""
    rounds: int = 24
    """Number of timed rounds; each runs every runner once."""
    seconds: float = 30.0
    """Time limit of one answer of a runner: loading, a trial, a batch."""
    limits: ResourceLimits = ResourceLimits()
    """Resource limits of a candidate."""
    device: int | None = None
    """Number of the device to judge on; None for the first, or the only one."""
    harness_bytes: int = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    """Host memory that harnesses may hold between verdicts; those of the oldest tasks are closed
    first."""
    static_rules: bool = True
    """Whether the integrity gate applies its rules; tests of the other gates turn it off."""
    allow_unsandboxed: bool = False
    """Run untrusted code even where this machine cannot confine it."""

    def thread_processors(self) -> list[int]:
        """One processor per thread."""
        return sorted(self.processors or os.sched_getaffinity(0))[: self.threads]
