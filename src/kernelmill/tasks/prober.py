"""Description of task files in sandboxes: the parent's side of `describe.py`."""

import msgspec

from kernelmill.records.errors import TaskError
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task
from kernelmill.sandbox import Policy, ResourceLimits, SandboxFailure, Zygote
from kernelmill.tasks.loader import TaskFile

MODULES = ("torch", "torch._dynamo", "kernelmill.tasks.warm_up", "kernelmill.tasks.describe")
"""Modules the zygote imports; without Dynamo every sandbox would import it for a dispatch mode."""
_SECONDS = 300.0
_MOST_SAID = 1000
_LIMITS = ResourceLimits(lifetime_seconds=600)


def describe_task(
    zygote: Zygote,
    file: TaskFile,
    scale: str,
    numerics: Numerics = Numerics.IEEE,
    device: str = "cpu",
    device_files: tuple[str, ...] = (),
    seconds: float = _SECONDS,
) -> Task:
    """Load a task file in a sandbox, on a device, and describe it. Raises TaskError."""
    policy = Policy(limits=_LIMITS, devices=device_files)
    try:
        with zygote.spawn("kernelmill.tasks.describe:run_describer", {}, policy) as sandbox:
            request = {
                **msgspec.to_builtins(file),
                "scale": scale,
                "numerics": numerics,
                "device": device,
            }
            answer = sandbox.request(request, seconds).body
    except SandboxFailure as failure:
        raise TaskError(f"{file.path}: loading the task failed: {failure}") from failure
    if "error" in answer:
        raise TaskError(f"{file.path}: {str(answer['error'])[:_MOST_SAID]}")
    try:
        described = msgspec.convert(answer.get("task"), Task)
    except (msgspec.ValidationError, RecursionError) as error:
        raise TaskError(f"{file.path}: its description is malformed: {error}") from error
    if not (described.variants and described.distributions and described.outputs):
        raise TaskError(f"{file.path}: its description lacks shapes, distributions or outputs")
    if not described.source.startswith(file.source):
        raise TaskError(f"{file.path}: its description is that of another file")
    # Its own code described it, so what we know better is not taken from there.
    return msgspec.structs.replace(
        described, id=file.id, path=file.path, scale=scale, numerics=numerics
    )
