"""One confined process as its parent sees it: requests, timed requests, reading its memory."""

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from kernelmill.sandbox import syscalls
from kernelmill.sandbox.channel import Channel, ChannelClosed, ChannelMessage, close_files
from kernelmill.sandbox.failures import (
    SandboxCrashed,
    SandboxFailure,
    SandboxProtocolError,
    SandboxRanWhileStopped,
)
from kernelmill.sandbox.processes import (
    ResidentMemory,
    descendants,
    parent_of,
    resident_memory,
    stat_fields,
    threads_of,
)

_Result = TypeVar("_Result")
_PROCESS_CLOCK = 2
"""With the inverted pid in the higher bits: the id of a process's CPU-time clock."""
_STOP_TOLERANCE_NANOSECONDS = 300_000
"""CPU time that may be charged to a stopped process: the act of stopping takes some."""
_STOP_SECONDS = 10.0
_STOP_POLL_SECONDS = 5e-5
_REMAINDER_SECONDS = 1.0
"""Time-out for the remainder of an answer whose first byte has arrived."""
_LAST_LINE_CHARACTERS = 500
_SECCOMP_FILTERS = "Seccomp_filters:"


class Timed(NamedTuple):
    """The answer to a timed request."""

    answer: dict[str, Any]
    nanoseconds: int
    ran: int
    """Nanoseconds that its threads were on a processor, added up."""
    waited: int
    """Nanoseconds in which its threads were ready to run, but no processor was free."""


class MemoryRegion(NamedTuple):
    """One mapping in a process's address space."""

    start: int
    end: int
    path: str
    """The mapped file; empty for anonymous memory."""
    device: str
    inode: int
    """Which file it is, whatever it is called; 0 for memory that belongs to none."""
    offset: int
    """Where in the file it begins."""


class _Activity(NamedTuple):
    """Scheduler counters, summed over all threads of a process."""

    ran: int
    """Nanoseconds on a processor."""
    waited: int
    """Nanoseconds in a run queue."""
    starts: int
    """How often one of them was put on a processor."""


class ConfinedProcess(ABC):
    """A confined process and the channel to it.

    `request` and `timed` raise a `SandboxFailure` when no proper answer comes; the process is dead
    after that. A stopped process uses no CPU time; `timed` lets it run only while the clock does.
    """

    pid: int

    def __init__(self, channel: Channel, log: int) -> None:
        self._channel = channel
        self._log = log
        self.closed = False
        self._printed = ""
        self._when_stopped: _Activity | None = None

    @abstractmethod
    def close(self) -> None:
        """End it, and everything that it has started, and wait until all are gone."""

    @abstractmethod
    def _explain_end(self) -> SandboxFailure:
        """The reason for which its channel is closed."""

    def request(
        self, body: dict[str, Any], timeout: float, files: tuple[int, ...] = ()
    ) -> ChannelMessage:
        """Send one message, wait for one answer."""

        def converse() -> ChannelMessage:
            self._channel.send(body, files)
            return self._channel.receive(timeout)

        return self._guarded(converse)

    def timed(self, body: dict[str, Any], timeout: float) -> Timed:
        """Send one message to the stopped process, and stop it the moment it answers.

        It runs only while the clock does, so work left undone at the answer stays undone.
        """

        def converse() -> Timed:
            self._channel.send(body)
            before = self._activity()
            self._check_stayed_stopped(before)
            start = time.perf_counter_ns()
            self._signal(signal.SIGCONT)
            self._channel.wait(timeout)
            self._signal(signal.SIGSTOP)
            end = time.perf_counter_ns()
            after = self._activity()
            self._stop()
            message = self._channel.receive(_REMAINDER_SECONDS)
            close_files(message.files)
            ran, waited = after.ran - before.ran, after.waited - before.waited
            return Timed(message.body, end - start, ran, waited)

        return self._guarded(converse)

    def has_answered(self) -> bool:
        """Whether an answer has begun to arrive."""
        return self._channel.ready(0.0)

    def wait_for_answer(self, timeout: float) -> None:
        """Wait until an answer begins to arrive, and leave it for `receive`."""
        self._guarded(lambda: self._channel.wait(timeout))

    def send(self, body: dict[str, Any], files: tuple[int, ...] = ()) -> None:
        """Send a message without waiting for its answer, which `receive` takes."""
        self._guarded(lambda: self._channel.send(body, files))

    def receive(self, timeout: float) -> ChannelMessage:
        return self._guarded(lambda: self._channel.receive(timeout))

    def stop(self) -> None:
        """Stop every thread of it, until `resume` or `timed`."""
        self._guarded(self._stop)

    def resume(self) -> None:
        """Continue it. Raises SandboxRanWhileStopped where it had not stayed stopped."""
        self._guarded(self._resume)

    def read(self, spans: list[tuple[int, int]]) -> npt.NDArray[np.uint8]:
        """Bytes of the process's memory, as (address, length) spans, taken without its help."""
        try:
            return syscalls.read_memory(self.pid, spans)
        except OSError as error:
            raise SandboxProtocolError(f"its answer is not in its memory: {error}") from error

    def threads(self) -> list[int]:
        return threads_of(self.pid)

    def resident_memory(self) -> ResidentMemory | None:
        """Its resident memory; None where the kernel does not tell."""
        return resident_memory(self.pid)

    def fewest_seccomp_filters(self) -> int:
        """The number of seccomp filters on the thread that has the fewest."""
        counts = []
        for thread in self.threads():
            try:
                with open(f"/proc/{self.pid}/task/{thread}/status") as status:
                    counts += [int(n.split()[1]) for n in status if n.startswith(_SECCOMP_FILTERS)]
            except OSError:
                continue
        return min(counts, default=0)

    def other_processes(self) -> list[int]:
        """Processes below its parent beside itself."""
        parent = parent_of(self.pid)
        if parent is None:
            return []
        return [pid for pid in descendants(parent) if pid != self.pid]

    def regions(self, executable: bool = False, name: str = "") -> list[MemoryRegion]:
        """Its memory map: only executable regions, or only those whose path contains `name`."""
        found = []
        try:
            with open(f"/proc/{self.pid}/maps") as maps:
                for line in maps:
                    addresses, rights, offset, device, inode, *path = line.split(maxsplit=5)
                    text = path[0].strip() if path else ""
                    if name in text and ("x" in rights or not executable):
                        start, _, end = addresses.partition("-")
                        region = MemoryRegion(
                            start=int(start, 16),
                            end=int(end, 16),
                            path=text,
                            device=device,
                            inode=int(inode),
                            offset=int(offset, 16),
                        )
                        found.append(region)
        except OSError:
            return []
        return found

    def log(self) -> str:
        """Its standard output and error, up to the limit; of one that failed also after its end."""
        if self.closed:
            return self._printed
        size = os.fstat(self._log).st_size
        return os.pread(self._log, size, 0).rstrip(b"\0").decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        """Run an action; where it fails, end the process and raise the reason."""
        if self.closed:
            raise SandboxCrashed(None, None, "")
        try:
            return action()
        except (ChannelClosed, SandboxFailure) as error:
            failure = error if isinstance(error, SandboxFailure) else self._explain_end()
            self._printed = self.log()
            self.close()
            raise failure from error

    def _stop(self) -> None:
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + _STOP_SECONDS
        while not self._is_stopped():
            if time.monotonic() > deadline:
                raise SandboxRanWhileStopped("it does not stop when told to")
            # Its threads need a processor to stop on: polling without a pause would take it.
            time.sleep(_STOP_POLL_SECONDS)
        self._when_stopped = self._activity()

    def _resume(self) -> None:
        if self._when_stopped is not None:
            self._check_stayed_stopped(self._activity())
        self._signal(signal.SIGCONT)

    def _check_stayed_stopped(self, now: _Activity) -> None:
        if self._when_stopped is not None:
            ran = now.ran - self._when_stopped.ran
            # CPU time before a stop may be charged late: only what was scheduled again has run.
            if ran > _STOP_TOLERANCE_NANOSECONDS and now.starts > self._when_stopped.starts:
                raise SandboxRanWhileStopped(f"it ran for {ran / 1e6:.2f} ms while stopped")
        self._when_stopped = None

    def _is_stopped(self) -> bool:
        states = (stat_fields(self.pid, thread)[:1] for thread in self.threads())
        return all(state[0] in "TtZX" for state in states if state)

    def _activity(self) -> _Activity:
        try:
            ran = time.clock_gettime_ns(~self.pid << 3 | _PROCESS_CLOCK)
        except OSError as error:
            raise ChannelClosed from error
        waited = starts = 0
        for thread in self.threads():
            try:
                with open(f"/proc/{self.pid}/task/{thread}/schedstat") as statistics:
                    _, wait, count = statistics.read().split()
            except OSError:
                continue
            waited += int(wait)
            starts += int(count)
        return _Activity(ran, waited, starts)

    def _signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError as error:
            raise ChannelClosed from error

    def _last_line(self) -> str:
        lines = [line for line in self.log().splitlines() if line.strip()]
        return lines[-1][:_LAST_LINE_CHARACTERS] if lines else ""
