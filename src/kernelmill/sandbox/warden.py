"""The trusted guard of a cell: starts the confined process, watches it, ends all of it.

Under namespaces the warden is process 1 of the cell's pid namespace, so that its end is the end
of everything inside, whatever the confined process has done.
"""

import contextlib
import gc
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from kernelmill.sandbox import syscalls
from kernelmill.sandbox.channel import Channel, ChannelClosed
from kernelmill.sandbox.confine import confine, furnish_namespaces
from kernelmill.sandbox.policy import Policy, Tier

Entry = Callable[[Channel, dict[str, Any], str], None]
"""What runs inside: the channel to the parent, the arguments, the scratch folder."""

SCRATCH_PREFIX = "kernelmill-cell-"
_WATCH_SECONDS = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")


def outrank_the_cell() -> None:
    """Make this process's descendants run before others, until they step down.

    A cell that forks without end would leave its warden a hundredth of a processor. Only root may
    do this, and only root's processes no resource limit counts.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _step_down() -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Warden:
    def __init__(self, policy: Policy, channel: Channel, control: Channel, log: int) -> None:
        self._policy = policy
        self._channel = channel
        self._control = control
        self._log = log
        self._alone = policy.tier >= Tier.FULL

    def guard(self, entry: Entry, arguments: dict[str, Any]) -> NoReturn:
        """Never returns: ends the calling process when the cell is over."""
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        if self._alone:
            scratch = furnish_namespaces(self._policy)
        else:
            scratch = tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-")
        child = os.fork()
        if child == 0:
            self._run(entry, arguments, scratch)
        self._channel.close()
        os.close(self._log)
        try:
            self._watch(child)
        finally:
            self._end_everything(child)
            if not self._alone:
                shutil.rmtree(scratch, ignore_errors=True)
            os._exit(0)

    def _run(self, entry: Entry, arguments: dict[str, Any], scratch: str) -> NoReturn:
        code = 1
        try:
            _step_down()
            os.setsid()
            self._control.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(self._log, 1)
            os.dup2(self._log, 2)
            _close_all_but({0, 1, 2, self._channel.fileno()})
            os.environ.update(HOME=scratch, TMPDIR=scratch)
            tempfile.tempdir = scratch
            os.chdir(scratch)
            confine(self._policy, scratch)
            self._channel.greet()
            gc.enable()
            entry(self._channel, arguments, scratch)
            code = 0
        except ChannelClosed:
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)

    def _watch(self, child: int) -> None:
        started = time.monotonic()
        handle = os.pidfd_open(child)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.register(self._control.fileno(), select.POLLIN)
        while True:
            ready = dict(poll.poll(_WATCH_SECONDS * 1000))
            if self._control.fileno() in ready:
                return
            if handle in ready:
                _, status = os.waitpid(child, 0)
                self._report({"event": "exit", **_describe(status)})
                return
            excess = self._excess(child, time.monotonic() - started)
            if excess:
                limit, detail = excess
                self._report({"event": "limit", "limit": limit, "detail": detail})
                return
            _reap_orphans(child)

    def _excess(self, child: int, age: float) -> tuple[str, str] | None:
        limits = self._policy.limits
        if age > limits.lifetime_seconds:
            return "lifetime", f"{age:.0f} s"
        threads = memory = 0
        for pid in self._members(child):
            threads += _thread_count(pid)
            memory += _resident_bytes(pid)
        if threads > limits.processes:
            return "processes", f"{threads} processes and threads, {limits.processes} allowed"
        if memory > limits.memory_bytes:
            return (
                "memory",
                f"{memory >> 20} MiB resident, {limits.memory_bytes >> 20} MiB allowed",
            )
        return None

    def _members(self, child: int) -> Iterator[int]:
        if not self._alone:
            yield from _descendants(os.getpid())
            return
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                yield int(name)

    def _end_everything(self, child: int) -> None:
        if self._alone and os.getpid() == 1:
            _kill(-1)
        else:
            _kill(-child)
            while remaining := list(_descendants(os.getpid())):
                for pid in remaining:
                    _kill(pid)
                _reap_orphans(0)
                time.sleep(0.001)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass

    def _report(self, body: dict[str, Any]) -> None:
        try:
            self._control.send(body)
        except ChannelClosed:
            pass


def _describe(status: int) -> dict[str, int | None]:
    if os.WIFSIGNALED(status):
        return {"exit_code": None, "signal_number": os.WTERMSIG(status)}
    return {"exit_code": os.WEXITSTATUS(status), "signal_number": None}


def _kill(target: int) -> None:
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap_orphans(keep: int) -> None:
    """Collect ended children other than `keep`, whose end is reported, not swallowed."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == keep:
            return
        os.waitpid(ended.si_pid, 0)


def _descendants(root: int) -> Iterator[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat_fields(int(name))
            if fields and fields[0] != "Z":
                parents[int(name)] = int(fields[1])
    for pid in parents:
        ancestor = parents.get(pid)
        while ancestor and ancestor != root:
            ancestor = parents.get(ancestor)
        if ancestor == root:
            yield pid


def _stat_fields(pid: int) -> list[str]:
    """State, parent and so on: what follows the command's name in /proc/PID/stat."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _thread_count(pid: int) -> int:
    fields = _stat_fields(pid)
    return int(fields[17]) if fields and fields[0] != "Z" else 0


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as statistics:
            _, resident, shared, *_ = statistics.read().split()
            return (int(resident) - int(shared)) * _PAGE
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return 0


def _close_all_but(keep: set[int]) -> None:
    previous = -1
    for descriptor in [*sorted(keep), 1 << 16]:
        if descriptor > previous + 1:
            os.closerange(previous + 1, descriptor)
        previous = descriptor
