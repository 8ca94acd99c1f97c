"""Describing task files in cells, from the parent's side."""

import msgspec

from kernelmill.errors import TaskError
from kernelmill.sandbox import CellFailure, Limits, Policy, Zygote
from kernelmill.tasks.loader import TaskFile
from kernelmill.tasks.task import Task

MODULES = ("torch", "torch._dynamo", "kernelmill.tasks.warm_up", "kernelmill.tasks.describe")
"""What the zygote imports; the first dispatch mode would load dynamo in every cell anew."""
_SECONDS = 120.0
_LIMITS = Limits(lifetime_seconds=600)


def describe_task(
    zygote: Zygote,
    file: TaskFile,
    scale: str,
    device: str = "cpu",
    device_files: tuple[str, ...] = (),
    seconds: float = _SECONDS,
) -> Task:
    """Load a task file in a cell, on a device, and say what it is. Raises TaskError."""
    policy = Policy(limits=_LIMITS, devices=device_files)
    try:
        with zygote.spawn("kernelmill.tasks.describe:probe", {}, policy) as cell:
            request = {**msgspec.to_builtins(file), "scale": scale, "device": device}
            answer = cell.request(request, seconds).body
    except CellFailure as failure:
        raise TaskError(f"{file.path}: loading the task failed: {failure}") from failure
    if "error" in answer:
        raise TaskError(f"{file.path}: {answer['error']}")
    return msgspec.convert(answer["task"], Task)
