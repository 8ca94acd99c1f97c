"""Properties of this machine's NVIDIA GPUs, as nvidia-smi reports them."""

import functools
import shutil
import subprocess

from kernelmill.backends.base import Requirement

_SECONDS = 20.0
_HOPPER = "9.0"


def gpu_requirement() -> Requirement:
    return Requirement("NVIDIA GPU", gpu_name(), "a machine with a GPU and NVIDIA's driver")


def gpu_name() -> str:
    """Name of the first GPU; empty if there is none."""
    return next(iter(gpu_names()), "")


def gpu_names() -> tuple[str, ...]:
    """Names of all GPUs, in the order of their numbers."""
    return _query("name")


def architecture() -> str:
    """Architecture to compile for: the first GPU's, or Hopper if there is none."""
    # From Hopper on, matrix and copy instructions belong to one architecture alone.
    return f"sm_{capability()}{'a' if capability() >= 90 else ''}"


def capability() -> int:
    """Compute capability of the first GPU, or Hopper if there is none, times ten: 90 for 9.0."""
    major, _, minor = next(iter(_query("compute_cap")), _HOPPER).partition(".")
    return 10 * int(major) + int(minor)


@functools.cache
def _query(field: str) -> tuple[str, ...]:
    """The value of a field for each GPU; empty if there is no driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, f"--query-gpu={field}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(done.stdout.splitlines()) if done.returncode == 0 else ()
