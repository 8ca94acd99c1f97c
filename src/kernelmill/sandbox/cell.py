"""The parent's handles: the warm process, and the cells forked from it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.sandbox import syscalls
from kernelmill.sandbox.channel import Channel, ChannelClosed, Message, channel_pair
from kernelmill.sandbox.failures import (
    CellCrashed,
    CellFailure,
    CellLimitExceeded,
    CellProtocolError,
    CellRestless,
    ZygoteLost,
)
from kernelmill.sandbox.features import Features
from kernelmill.sandbox.policy import Policy

_Result = TypeVar("_Result")
_SPAWN_SECONDS = 30.0
_PROCESS_CLOCK = 2
"""With the inverted pid in the higher bits: the id of a process's processor clock."""
_RESTLESS_NANOSECONDS = 300_000
"""Processor time a stopped cell may use: none, but stopping itself takes some."""
_STOP_SECONDS = 10.0
_STOP_POLL_SECONDS = 5e-5
_REST_SECONDS = 1.0
"""For the rest of an answer whose beginning has arrived."""
_IMPORT_SECONDS = 180.0
_END_SECONDS = 10.0
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}

_START = str(Path(__file__).with_name("start.py"))
_FILTERS = "Seccomp_filters:"
_FINDING = ("PATH", "LD_LIBRARY_PATH")


class Timed(NamedTuple):
    answer: dict[str, Any]
    nanoseconds: int
    waited: int
    """Nanoseconds its threads could have run, but found no processor free."""


class _Activity(NamedTuple):
    """Of all threads of a cell together."""

    ran: int
    """Nanoseconds on a processor."""
    waited: int
    """Nanoseconds in a run queue."""
    starts: int
    """How often one of them was put on a processor."""


class Cell:
    """A confined process and the conversation with it.

    `request` and `timed` raise a `CellFailure` when no proper answer comes; the cell is dead
    after that. A stopped cell uses no processor time; `timed` lets it live only inside the clock.
    """

    def __init__(self, channel: Channel, control: Channel, log: int) -> None:
        self._channel = channel
        self._control = control
        self._log = log
        self.closed = False
        self._printed = ""
        self._at_rest: _Activity | None = None
        self.pid = self._guarded(lambda: channel.peer_process(_SPAWN_SECONDS))

    def request(self, body: dict[str, Any], timeout: float, files: tuple[int, ...] = ()) -> Message:
        """Send one message, wait for one answer."""

        def converse() -> Message:
            self._channel.send(body, files)
            return self._channel.receive(timeout)

        return self._guarded(converse)

    def timed(self, body: dict[str, Any], timeout: float) -> Timed:
        """Send one message to the stopped cell, and stop it the moment it answers.

        Nothing of it lives outside the clock: what it left undone stays undone.
        """

        def converse() -> Timed:
            self._channel.send(body)
            before = self._activity()
            self._demand_rest(before)
            start = time.perf_counter_ns()
            self._signal(signal.SIGCONT)
            self._channel.wait(timeout)
            self._signal(signal.SIGSTOP)
            end = time.perf_counter_ns()
            waited = self._activity().waited - before.waited
            self._stop()
            message = self._channel.receive(_REST_SECONDS)
            _close(message.files)
            return Timed(message.body, end - start, waited)

        return self._guarded(converse)

    def has_answered(self) -> bool:
        """Whether an answer has begun to arrive."""
        return self._channel.ready(0.0)

    def send(self, body: dict[str, Any]) -> None:
        """Half of a request; `receive` is the other."""
        self._guarded(lambda: self._channel.send(body))

    def receive(self, timeout: float) -> Message:
        return self._guarded(lambda: self._channel.receive(timeout))

    def drop(self, timeout: float) -> None:
        """Receive an answer nobody needs."""
        _close(self.receive(timeout).files)

    def stop(self) -> None:
        """Let it stand still. Nothing in it runs until `resume` or `timed`."""
        self._guarded(self._stop)

    def resume(self) -> None:
        """Let it go on; raises CellRestless where it had not stood still."""
        self._guarded(self._resume)

    def read(self, spans: list[tuple[int, int]]) -> npt.NDArray[np.uint8]:
        """Bytes of the cell's memory, as (address, length) spans, taken without its help."""
        try:
            return syscalls.read_memory(self.pid, spans)
        except OSError as error:
            raise CellProtocolError(f"its answer is not in its memory: {error}") from error

    def spoil(self, spans: list[tuple[int, int]]) -> None:
        """Fill (address, length) spans of its memory with rubbish (all bits set: not a number)."""
        try:
            syscalls.fill_memory(self.pid, spans, 0xFF)
        except OSError as error:
            raise CellProtocolError(f"its answer is not in its memory: {error}") from error

    def threads(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(f"/proc/{self.pid}/task")]
        except FileNotFoundError:
            return []

    def fewest_filters(self) -> int:
        """How many seccomp filters the least filtered of its threads has."""
        counts = []
        for thread in self.threads():
            try:
                with open(f"/proc/{self.pid}/task/{thread}/status") as status:
                    counts += [int(n.split()[1]) for n in status if n.startswith(_FILTERS)]
            except OSError:
                continue
        return min(counts, default=0)

    def company(self) -> list[int]:
        """Processes in the cell beside the confined one itself."""
        parents = dict(_parents())
        warden = parents.get(self.pid)
        return [
            pid
            for pid in parents
            if pid != self.pid and warden is not None and _descends(pid, warden, parents)
        ]

    def regions(self, executable: bool = False, name: str = "") -> list[tuple[int, int, str]]:
        """Its memory map as (start, end, path); only what can execute, or whose path has a name."""
        found = []
        try:
            with open(f"/proc/{self.pid}/maps") as maps:
                for line in maps:
                    place, rights, _, _, _, *path = line.split(maxsplit=5)
                    text = path[0].strip() if path else ""
                    if name in text and ("x" in rights or not executable):
                        start, _, end = place.partition("-")
                        found.append((int(start, 16), int(end, 16), text))
        except OSError:
            return []
        return found

    def log(self) -> str:
        """What the cell printed, up to its limit; of one that failed also after its end."""
        if self.closed:
            return self._printed
        size = os.fstat(self._log).st_size
        return os.pread(self._log, size, 0).rstrip(b"\0").decode(errors="replace")

    def close(self) -> None:
        """End everything inside and wait until it is gone."""
        if self.closed:
            return
        self.closed = True
        self._channel.close()
        # Shutting down our half tells the warden; its own end closes the other half.
        sock = socket.socket(fileno=os.dup(self._control.fileno()))
        try:
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(_END_SECONDS)
            while sock.recv(4096):
                pass
        except (TimeoutError, OSError):
            pass
        finally:
            sock.close()
            self._control.close()
            os.close(self._log)

    def __enter__(self) -> "Cell":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        """Whatever goes wrong in a conversation ends the cell and says why."""
        if self.closed:
            raise CellCrashed(None, None, "")
        try:
            return action()
        except (ChannelClosed, CellFailure) as error:
            failure = self._explain(error)
            self._printed = self.log()
            self.close()
            raise failure from error

    def _stop(self) -> None:
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + _STOP_SECONDS
        while not self._stands_still():
            if time.monotonic() > deadline:
                raise CellRestless("it does not stop when told to")
            # Its threads need a processor to stop on: looking without a pause would take it.
            time.sleep(_STOP_POLL_SECONDS)
        self._at_rest = self._activity()

    def _resume(self) -> None:
        if self._at_rest is not None:
            self._demand_rest(self._activity())
        self._signal(signal.SIGCONT)

    def _demand_rest(self, now: _Activity) -> None:
        """A stopped cell that has run all the same is restless."""
        if self._at_rest is not None:
            ran = now.ran - self._at_rest.ran
            # The last moments before a stop are counted late: only who was started again ran.
            if ran > _RESTLESS_NANOSECONDS and now.starts > self._at_rest.starts:
                raise CellRestless(f"it ran for {ran / 1e6:.2f} ms while stopped")
        self._at_rest = None

    def _stands_still(self) -> bool:
        for thread in self.threads():
            try:
                with open(f"/proc/{self.pid}/task/{thread}/stat") as stat:
                    if stat.read().rpartition(")")[2].split(maxsplit=1)[0] not in "TtZX":
                        return False
            except (FileNotFoundError, ProcessLookupError):
                continue
        return True

    def _activity(self) -> _Activity:
        """What the kernel has counted so far."""
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

    def _explain(self, error: Exception) -> CellFailure:
        """The true reason behind a closed channel: what the warden says of the end."""
        if isinstance(error, CellFailure):
            return error
        try:
            end = self._control.receive(_END_SECONDS).body
        except (ChannelClosed, CellFailure):
            return CellCrashed(None, None, self._last_line())
        if end.get("event") == "limit":
            return CellLimitExceeded(end["limit"], end["detail"])
        return CellCrashed(end["exit_code"], end["signal_number"], self._last_line())

    def _last_line(self) -> str:
        lines = [line for line in self.log().splitlines() if line.strip()]
        return lines[-1][:500] if lines else ""


class Zygote:
    """The warm process. Safe to use from several threads; started anew if it was killed."""

    def __init__(
        self, modules: tuple[str, ...], threads: int, python: str = sys.executable
    ) -> None:
        """Start it with `modules` imported; cells compute with `threads` threads.

        Under another `python`, which needs msgspec and numpy, it sees that one's packages.
        """
        self._modules = modules
        self._threads = threads
        self._python = python
        self._lock = threading.Lock()
        self._start()

    def spawn(self, entry: str, arguments: dict[str, Any], policy: Policy) -> Cell:
        """Fork a cell that runs `entry` ("module:function" of an imported module).

        Raises CellFailure where the cell does not come up, ZygoteLost where that is our fault.
        """
        tier = min(policy.tier, self.features.tier)
        policy = msgspec.structs.replace(policy, tier=tier)
        body = {
            "entry": entry,
            "arguments": arguments,
            "policy": msgspec.to_builtins(policy),
        }
        with self._lock:
            if self._process.poll() is not None:
                self._channel.close()
                self._start()
            try:
                return self._fork(body, policy.limits.log_bytes)
            except CellCrashed as error:
                if self._process.poll() is not None:
                    raise ZygoteLost("the warm process was killed") from error
                raise

    def close(self) -> None:
        self._channel.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._channel, theirs = channel_pair()
        number = theirs.fileno()
        self._process = subprocess.Popen(
            [self._python, "-P", _START, str(number), *self._modules],
            pass_fds=(number,),
            env=_environment(self._threads),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        theirs.close()
        try:
            hello = self._channel.receive(_IMPORT_SECONDS)
        except (ChannelClosed, CellFailure) as error:
            self.close()
            raise ZygoteLost("the warm process did not start") from error
        self.features = msgspec.convert(hello.body["features"], Features)

    def _fork(self, body: dict[str, Any], log_bytes: int) -> Cell:
        channel, channel_theirs = channel_pair()
        channel.expect_greeting()
        control, control_theirs = channel_pair()
        log = _sealed_log(log_bytes)
        try:
            self._channel.send(body, (channel_theirs.fileno(), control_theirs.fileno(), log))
        except ChannelClosed:
            pass  # killed this very moment: the cell below finds nobody and says so
        channel_theirs.close()
        control_theirs.close()
        return Cell(channel, control, log)


def _parents() -> Iterator[tuple[int, int]]:
    """Every living process and its parent."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    state, parent, *_ = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if state != "Z":
                yield int(name), int(parent)


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    parent = parents.get(pid)
    while parent and parent != ancestor:
        parent = parents.get(parent)
    return parent == ancestor


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _environment(threads: int) -> dict[str, str]:
    """Nothing of the caller's but where programs and libraries are found: no keys travel."""
    found = {name: os.environ[name] for name in _FINDING if name in os.environ}
    own = {"PATH": os.defpath, "OMP_NUM_THREADS": str(threads), "HOME": "/"}
    return {**_ENVIRONMENT, **own, **found}


def _sealed_log(size: int) -> int:
    """A file in memory that cannot grow: printing gigabytes fills it and no more."""
    log = os.memfd_create("log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(log, size)
    seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(log, fcntl.F_ADD_SEALS, seals)
    return log
