"""How strictly, and for how long, to judge."""

import os

import msgspec

from kernelmill.sandbox import Limits


class Settings(msgspec.Struct, frozen=True):
    threads: int = len(os.sched_getaffinity(0))
    """For the candidate and every baseline alike."""
    processors: tuple[int, ...] = ()
    """Those that contestants run on; all that this process may use where none are named."""
    rounds: int = 24
    """Timed rounds; each runs every contestant once."""
    seconds: float = 30.0
    """For one answer of a runner: loading, a trial, a batch."""
    limits: Limits = Limits()
    device: int | None = None
    """The number of the device to judge on; None: the first, or the only one."""
    bench_bytes: int = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    """What references, cases and inputs may hold between verdicts; the oldest task's go first."""
    static_rules: bool = True
    """Off only where a test asks what the gates behind the rules would say."""
    allow_unsandboxed: bool = False
    """Run foreign code even where this machine cannot confine it."""

    def places(self) -> list[int]:
        """Processors, one a thread."""
        return sorted(self.processors or os.sched_getaffinity(0))[: self.threads]
