"""What the backends for NVIDIA GPUs have in common."""

import shutil
import subprocess

from kernelmill.backends.base import Requirement

_SECONDS = 20.0


def device_requirement() -> Requirement:
    return Requirement("NVIDIA GPU", device_name(), "a machine with a GPU and NVIDIA's driver")


def device_name() -> str:
    """The name of the first device; empty where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0].strip() if done.returncode == 0 else ""
