"""Which means of isolation this machine grants, found out by trying each of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec
import numpy as np

from kernelmill.sandbox import landlock, seccomp, syscalls
from kernelmill.sandbox.confine import enter_namespaces, furnish_namespaces
from kernelmill.sandbox.policy import Policy, Tier


class Features(msgspec.Struct, frozen=True):
    namespaces: str
    """Empty where granted, else why not; the same for the others."""
    landlock: str
    landlock_abi: int
    seccomp: str
    memory_reading: str

    @property
    def tier(self) -> Tier:
        if self.landlock or self.seccomp:
            return Tier.MINIMAL
        return Tier.PARTIAL if self.namespaces else Tier.FULL


def probe_in_this_process() -> Features:
    """Try every means in forked children. The caller must have one thread only."""
    return Features(
        namespaces=_try(_enter_and_furnish),
        landlock=_try(_restrict_files) if landlock.abi() else "the kernel has no Landlock",
        landlock_abi=landlock.abi(),
        seccomp=_try(_restrict_calls)
        if seccomp.supported()
        else f"no system call table for {syscalls.MACHINE}",
        memory_reading=_try_reading_memory(),
    )


def probe_features() -> Features:
    """The same from any process: the trial runs in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill.sandbox.features"], capture_output=True, check=True
    )
    return msgspec.json.decode(done.stdout, type=Features)


def _try(action: Callable[[], None]) -> str:
    """Run in a fork; empty if it worked, else the reason."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        reason = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return "" if status == 0 else reason or f"the trial ended with status {status}"


def _enter_and_furnish() -> None:
    enter_namespaces()
    inner = os.fork()
    if inner == 0:
        furnish_namespaces(Policy())
        os._exit(0)
    _, status = os.waitpid(inner, 0)
    if status != 0:
        raise OSError("namespaces open, but mounting /proc or a tmpfs inside is refused")


def _restrict_files() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict([])


def _restrict_calls() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.restrict(may_execute=False)


def _try_reading_memory() -> str:
    marker = np.frombuffer(os.urandom(16), np.uint8)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        found = syscalls.read_memory(child, [(marker.ctypes.data, marker.size)])
        return "" if bytes(found) == bytes(marker) else "another process's memory reads wrong"
    except OSError as error:
        return str(error)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(probe_in_this_process()))
