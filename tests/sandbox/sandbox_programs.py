"""Programs that tests run inside sandboxes."""

import ctypes
import mmap
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from kernelmill.sandbox import seccomp
from kernelmill.sandbox.channel import Channel


def echo(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    while True:
        message = channel.receive()
        channel.send({"got": message.body, "arguments": arguments, "scratch": scratch})


def segfault(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    ctypes.string_at(0)


def abort(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    ctypes.CDLL(None).abort()


def raise_error(_channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    raise ValueError("the last words")


def leave(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    os._exit(arguments["code"])


def sleep(_channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    time.sleep(1000)


def eat_memory(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    kept = []
    while True:
        block = mmap.mmap(-1, 64 << 20)
        for page in range(0, len(block), 4096):
            block[page] = 1
        kept.append(block)


def fork_forever(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.001)


def many_threads(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


def print_forever(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    while True:
        os.write(1, b"y" * 65536)


def daemonise(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    """Leaves a grandchild in a session of its own behind, then answers."""
    channel.receive()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    channel.send({"pid": os.getpid()})
    time.sleep(1000)


def send_rubbish(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    raw = socket.socket(fileno=os.dup(channel.fileno()))
    raw.sendall(bytes.fromhex(arguments["bytes"]))
    time.sleep(1000)


def compute_in_a_thread(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    """Computes in a thread without end, and answers meanwhile."""
    threading.Thread(target=lambda: [pow(3, 10**6, 10**9 + 7) for _ in range(10**9)]).start()
    while True:
        channel.receive()
        channel.send({})


def _attempt(action: Any) -> str:
    try:
        action()
        return "done"
    except OSError as error:
        return error.strerror or "refused"


def trespass(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Tries what a confined process must not be able to do; says how each try ended."""
    channel.receive()
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *values: Any) -> str:
        ctypes.set_errno(0)
        result = getattr(libc, name)(*values)
        return "done" if result != -1 else os.strerror(ctypes.get_errno())

    parent = arguments["parent"]
    channel.send(
        {
            "read secret": _attempt(lambda: open(arguments["secret"]).read()),
            "write secret": _attempt(lambda: open(arguments["secret"], "a").write("x")),
            "write /usr": _attempt(lambda: open("/usr/kernelmill-test", "w").close()),
            "write scratch": _attempt(lambda: open(f"{scratch}/mine", "w").write("x")),
            "read parent's environment": _attempt(lambda: open(f"/proc/{parent}/environ").read()),
            "signal parent": _attempt(lambda: os.kill(parent, 0)),
            "socket": _attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
            "fork": _attempt(lambda: os.fork() or os._exit(0)),
            "execute": _attempt(lambda: os.execv("/bin/true", ["true"])),
            "ptrace": call("ptrace", 16, parent, 0, 0),
            "unshare": call("unshare", 0x10000000),
            "mount": call("mount", b"none", b"/", b"tmpfs", 0, 0),
            "timer": call("timer_create", 1, 0, ctypes.create_string_buffer(8)),
            "own signals": call("fcntl", channel.fileno(), 10, int(signal.SIGCONT)),
            "forget to die": call("prctl", 1, 0, 0, 0, 0),
            "environment": sorted(os.environ),
        }
    )


def read_files(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """What it can read of each path, or list of each folder."""

    def content(path: str) -> str:
        if os.path.isdir(path):
            return " ".join(os.listdir(path))
        return Path(path).read_bytes().decode(errors="replace")[:1000]

    def outcome(path: str) -> str:
        try:
            return content(path)
        except OSError as error:
            return f"error {error.errno}"

    channel.receive()
    channel.send({path: outcome(path) for path in arguments["paths"]})


def with_device(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """What a sandbox that owns a device file may do, and may not."""
    channel.receive()
    local = os.path.join(scratch, "listener")

    def listen() -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(local)
            server.listen()

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(local)

    channel.send(
        {
            "device": _attempt(lambda: os.close(os.open(arguments["device"], os.O_RDWR))),
            "listen": _attempt(listen),
            "connect": _attempt(connect),
            "internet": _attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
            "name a thread": _attempt(lambda: Path("/proc/self/comm").write_text("named")),
            "name another's": _attempt(lambda: Path("/proc/1/comm").write_text("named")),
        }
    )


def lock_itself(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Starts a program, forbids programs to itself, tries again."""
    channel.receive()
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
    child = subprocess.Popen(["/bin/sleep", "100"]) if arguments["keeps"] else None
    channel.send({"first": _attempt(lambda: subprocess.run(["/bin/true"], check=True))})
    channel.receive()
    seccomp.forbid_programs()
    channel.send({"second": _attempt(lambda: subprocess.run(["/bin/true"], check=True))})
    channel.receive()
    del child


def raise_own_priority(channel: Channel, _arguments: dict[str, Any], _scratch: str) -> None:
    channel.receive()
    before = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass
    channel.send({"before": before, "after": os.sched_getscheduler(0)})
