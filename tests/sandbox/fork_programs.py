"""Programs for tests of forks: one leaves something behind, the next looks for it."""

import ctypes
import mmap
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelmill.sandbox.channel import Channel
from kernelmill.sandbox.confine import make_read_only
from kernelmill.sandbox.processes import stat_fields
from kernelmill.sandbox.serving import serve_forks

_libc = ctypes.CDLL(None, use_errno=True)
_IPC_CREAT, _KEY = 0o1000, 4711
_PR_SET_NAME = 15


class _Traces:
    """Ways to leave a value for the next fork, and to find it. `prepare` runs before the forks."""

    def __init__(self, scratch: str) -> None:
        self.scratch = Path(scratch)
        self.memory = bytearray(1)
        self.seen_signals: list[int] = []
        self.shared: mmap.mmap | None = None

    def prepare(self) -> None:
        signal.signal(signal.SIGUSR1, lambda number, _frame: self.seen_signals.append(number))
        try:
            self.shared = mmap.mmap(-1, 4096)
        except OSError:
            self.shared = None

    def leave(self, kind: str) -> None:
        getattr(self, f"_leave_{kind}")()

    def find(self, kind: str) -> bool:
        return bool(getattr(self, f"_find_{kind}")())

    def _leave_memory(self) -> None:
        self.memory[0] = 1

    def _find_memory(self) -> bool:
        return self.memory[0] == 1

    def _leave_shared_memory(self) -> None:
        if self.shared is None:
            raise OSError("no shared memory")
        self.shared[0] = 1

    def _find_shared_memory(self) -> bool:
        return self.shared is not None and self.shared[0] == 1

    def _leave_system_v_memory(self) -> None:
        _call(_libc.shmget(_KEY, 4096, _IPC_CREAT | 0o600))

    def _find_system_v_memory(self) -> bool:
        return bool(_libc.shmget(_KEY, 4096, 0o600) >= 0)

    def _leave_file(self) -> None:
        (self.scratch / "left").write_text("x")

    def _find_file(self) -> bool:
        return (self.scratch / "left").exists()

    def _leave_file_time(self) -> None:
        os.utime(self.scratch / "model.py", (1, 1))

    def _find_file_time(self) -> bool:
        return (self.scratch / "model.py").stat().st_mtime == 1

    def _leave_file_mode(self) -> None:
        (self.scratch / "model.py").chmod(0o711)

    def _find_file_mode(self) -> bool:
        return (self.scratch / "model.py").stat().st_mode & 0o777 == 0o711

    def _leave_attribute(self) -> None:
        os.setxattr(self.scratch / "model.py", "user.left", b"x")

    def _find_attribute(self) -> bool:
        return "user.left" in os.listxattr(self.scratch / "model.py")

    def _leave_signal(self) -> None:
        os.kill(os.getppid(), signal.SIGUSR1)

    def _find_signal(self) -> bool:
        return bool(self.seen_signals)

    def _leave_limit(self) -> None:
        resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (512, 1024))

    def _find_limit(self) -> bool:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 512

    def _leave_priority(self) -> None:
        os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)

    def _find_priority(self) -> bool:
        return os.getpriority(os.PRIO_PROCESS, 0) == 5

    def _leave_affinity(self) -> None:
        os.sched_setaffinity(0, {0})

    def _find_affinity(self) -> bool:
        return False

    def _leave_process(self) -> None:
        if os.fork() == 0:
            time.sleep(1000)

    def _leave_orphan(self) -> None:
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)

    def _find_orphan(self) -> bool:
        return self._find_process()

    def _find_process(self) -> bool:
        own = {1, os.getpid(), os.getppid()}
        others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - own
        return any(stat_fields(pid)[:1] not in ([], ["Z"]) for pid in others)

    def _leave_print(self) -> None:
        os.write(1, b"left in the log")

    def _find_print(self) -> bool:
        return any(b"left" in os.pread(number, 4096, 0) for number in (1, 2))

    def _leave_socket_option(self) -> None:
        for number in _sockets():
            with socket.socket(fileno=os.dup(number)) as own:
                own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 9999)

    def _find_socket_option(self) -> bool:
        return False

    def _leave_exit_status(self) -> None:
        """Nothing: the judge ends it. Its status must not be readable."""

    def _find_exit_status(self) -> bool:
        try:
            os.waitpid(-1, os.WNOHANG)
        except PermissionError:
            return False
        return True


def _call(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def _sockets() -> list[int]:
    numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    return [n for n in numbers if _is_socket(n)]


def _is_socket(number: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith("socket:")
    except OSError:
        return False


def _keep_thread() -> None:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


def _keep_file() -> None:
    os.open("/proc/cpuinfo", os.O_RDONLY)


def _keep_process() -> None:
    if os.fork() == 0:
        time.sleep(1000)


STRAYS: dict[str, Callable[[], None]] = {
    "thread": _keep_thread,
    "file": _keep_file,
    "process": _keep_process,
}
"""What a program may not have when it is forked."""


def leave_and_find(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Fork on request; forks leave and find traces, by kind."""
    Path(scratch, "model.py").write_text("")
    make_read_only(scratch)
    traces = _Traces(scratch)
    traces.prepare()
    if stray := arguments.get("stray"):
        STRAYS[stray]()

    def serve(own: Channel) -> None:
        while True:
            body = own.receive().body
            try:
                if "leave" in body:
                    traces.leave(body["leave"])
                    own.send({"left": True})
                elif "find" in body:
                    own.send({"found": traces.find(body["find"])})
                else:
                    ctypes.string_at(0)
            except OSError as error:
                own.send({"refused": str(error)})

    channel.receive()
    serve_forks(channel, serve)


def pretend_to_fork(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    """Answers in the place of the fork that it should make."""
    channel.receive()
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    os.closerange(channel.fileno() + 1, 100)
    channel.send({})
    message = channel.receive()
    Channel(socket.socket(fileno=message.files[0])).greet()
    channel.send({})
    time.sleep(1000)
