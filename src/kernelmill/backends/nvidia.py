"""What the backends for NVIDIA GPUs have in common."""

import functools
import shutil
import subprocess

from kernelmill.backends.base import Requirement

_SECONDS = 20.0
_HOPPER = "9.0"


def device_requirement() -> Requirement:
    return Requirement("NVIDIA GPU", device_name(), "a machine with a GPU and NVIDIA's driver")


def device_name() -> str:
    """The name of the first device; empty where there is none."""
    return next(iter(device_names()), "")


def device_names() -> tuple[str, ...]:
    """Of all devices, in the order of their numbers."""
    return _ask("name")


def architecture() -> str:
    """What to compile for: the first device's, or Hopper where there is none."""
    # From Hopper on, matrix and copy instructions belong to one architecture alone.
    return f"sm_{capability()}{'a' if capability() >= 90 else ''}"


def capability() -> int:
    """The first device's, ten times its number: 90 for 9.0. Hopper's where there is no device."""
    major, _, minor = next(iter(_ask("compute_cap")), _HOPPER).partition(".")
    return 10 * int(major) + int(minor)


@functools.cache
def _ask(what: str) -> tuple[str, ...]:
    """One line a device."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(done.stdout.splitlines()) if done.returncode == 0 else ()
