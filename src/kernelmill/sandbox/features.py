"""Isolation features of this machine, probed by using each of them in a forked process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec
import numpy as np

from kernelmill.sandbox import landlock, seccomp, syscalls
from kernelmill.sandbox.confine import enter_namespaces, mount_private_filesystems
from kernelmill.sandbox.policy import Policy, Tier
from kernelmill.sandbox.seccomp import SyscallGrants


class Features(msgspec.Struct, frozen=True):
    """Each feature is an empty string where this machine grants it, else the reason why not."""

    namespaces: str
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
    """Use every feature in forked children. The caller must have one thread only."""
    return Features(
        namespaces=_refusal(_use_namespaces),
        landlock=_refusal(_use_landlock) if landlock.abi() else "the kernel has no Landlock",
        landlock_abi=landlock.abi(),
        seccomp=_refusal(_use_seccomp)
        if seccomp.supported()
        else f"no system call table for {syscalls.MACHINE}",
        memory_reading=_memory_reading_refusal(),
    )


def probe_features() -> Features:
    """The same from any process: the probe runs in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill.sandbox.features"], capture_output=True, check=True
    )
    return msgspec.json.decode(done.stdout, type=Features)


def _refusal(action: Callable[[], None]) -> str:
    """Run in a fork; empty where it succeeds, else the reason."""
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
    return "" if status == 0 else reason or f"the probe ended with status {status}"


def _use_namespaces() -> None:
    enter_namespaces()
    inner = os.fork()
    if inner == 0:
        mount_private_filesystems(Policy())
        os._exit(0)
    _, status = os.waitpid(inner, 0)
    if status != 0:
        raise OSError("namespaces are granted, but mounting /proc or a tmpfs inside is refused")


def _use_landlock() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict_files([])


def _use_seccomp() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.restrict_syscalls(SyscallGrants())


def _memory_reading_refusal() -> str:
    marker = np.frombuffer(os.urandom(16), np.uint8)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        found = syscalls.read_memory(child, [(marker.ctypes.data, marker.size)])
        return (
            ""
            if bytes(found) == bytes(marker)
            else "reading another process's memory returns wrong bytes"
        )
    except OSError as error:
        return str(error)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(probe_in_this_process()))
