"""The trusted supervisor of a sandbox: starts the confined process, watches it, ends all of it.

Under namespaces the supervisor is process 1 of the sandbox's pid namespace, so that its end is the
end of everything inside, whatever the confined process has done.
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
from typing import Any, NamedTuple, NoReturn

from kernelmill.sandbox import syscalls
from kernelmill.sandbox.channel import Channel, ChannelClosed
from kernelmill.sandbox.confine import confine, mount_private_filesystems
from kernelmill.sandbox.policy import Policy, Tier
from kernelmill.sandbox.processes import descendants, private_resident_bytes, thread_count

Entry = Callable[[Channel, dict[str, Any], str], None]
"""The function that runs inside, given the channel to the parent, its arguments and the scratch
folder."""

SCRATCH_PREFIX = "kernelmill-sandbox-"
_WATCH_SECONDS = 0.02


class _Excess(NamedTuple):
    """A limit that the sandbox went over."""

    limit: str
    detail: str


def raise_priority() -> None:
    """Schedule this process and its descendants before others, until `_lower_priority`.

    A sandbox that forks without end would leave its supervisor a hundredth of a processor. Only
    root may do this, and only root needs it: resource limits do not count root's processes.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _lower_priority() -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Supervisor:
    """Runs one sandbox from its start to its end."""

    def __init__(self, policy: Policy, channel: Channel, control: Channel, log: int) -> None:
        self._policy = policy
        self._channel = channel
        self._control = control
        self._log = log
        self._in_namespaces = policy.tier >= Tier.FULL

    def supervise(self, entry: Entry, arguments: dict[str, Any]) -> NoReturn:
        """Never returns: ends the calling process when the sandbox is over."""
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        if self._in_namespaces:
            scratch = mount_private_filesystems(self._policy)
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
            if not self._in_namespaces:
                shutil.rmtree(scratch, ignore_errors=True)
            os._exit(0)

    def _run(self, entry: Entry, arguments: dict[str, Any], scratch: str) -> NoReturn:
        code = 1
        try:
            _lower_priority()
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
                self._report({"event": "exit", **_exit_status(status)})
                return
            excess = self._excess(time.monotonic() - started)
            if excess is not None:
                self._report({"event": "limit", **excess._asdict()})
                return
            _reap_orphans(child)

    def _excess(self, age: float) -> _Excess | None:
        limits = self._policy.limits
        if age > limits.lifetime_seconds:
            return _Excess("lifetime", f"{age:.0f} s")
        threads = memory = 0
        for pid in self._members():
            threads += thread_count(pid)
            memory += private_resident_bytes(pid)
        if threads > limits.processes:
            detail = f"{threads} processes and threads, {limits.processes} allowed"
            return _Excess("processes", detail)
        if memory > limits.memory_bytes:
            allowed = limits.memory_bytes >> 20
            return _Excess("memory", f"{memory >> 20} MiB resident, {allowed} MiB allowed")
        return None

    def _members(self) -> Iterator[int]:
        """The processes of the sandbox."""
        if not self._in_namespaces:
            yield from descendants(os.getpid())
            return
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                yield int(name)

    def _end_everything(self, child: int) -> None:
        if self._in_namespaces and os.getpid() == 1:
            _kill(-1)
        else:
            _kill(-child)
            while remaining := list(descendants(os.getpid())):
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


def _exit_status(status: int) -> dict[str, int | None]:
    if os.WIFSIGNALED(status):
        return {"exit_code": None, "signal_number": os.WTERMSIG(status)}
    return {"exit_code": os.WEXITSTATUS(status), "signal_number": None}


def _kill(target: int) -> None:
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap_orphans(keep: int) -> None:
    """Wait for ended children other than `keep`, whose exit status the caller reports."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == keep:
            return
        os.waitpid(ended.si_pid, 0)


def _close_all_but(keep: set[int]) -> None:
    previous = -1
    for descriptor in [*sorted(keep), 1 << 16]:
        if descriptor > previous + 1:
            os.closerange(previous + 1, descriptor)
        previous = descriptor
