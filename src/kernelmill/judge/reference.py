"""The reference in a sandbox of its own: it makes the cases."""

import msgspec

from kernelmill.judge.cases import secret_seed
from kernelmill.judge.protocol import ReferenceRequest
from kernelmill.judge.runner_handle import RunnerHandle, RunnerRaised
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.records.tensors import Layout, Node
from kernelmill.sandbox import Policy, ResourceLimits, SandboxFailure, Zygote
from kernelmill.tensors.arguments import InitArguments
from kernelmill.tensors.blob import Blob

REFERENCE_LIMITS = ResourceLimits(memory_bytes=16 << 30, lifetime_seconds=24 * 3600)
_SECONDS = 120.0


def start_reference(task: Task, zygote: Zygote, settings: JudgeSettings) -> RunnerHandle:
    """Start a runner with the task's Model. Raises TaskError."""
    policy = Policy(limits=REFERENCE_LIMITS)
    request = ReferenceRequest(task.source, task.scale, secret_seed())
    try:
        sandbox = zygote.spawn(f"{RUNNER}:run_reference", {"threads": settings.threads}, policy)
        runner = RunnerHandle(sandbox)
        runner.load(request, (), _SECONDS)
    except (SandboxFailure, RunnerRaised) as error:
        raise TaskError(f"{task.id}: the reference does not load: {error}") from error
    return runner


def read_init_arguments(task: Task, zygote: Zygote) -> InitArguments:
    """The arguments of the Model's constructor. Raises TaskError."""
    request = ReferenceRequest(task.source, task.scale, 0)
    entry = f"{RUNNER}:make_init_arguments"
    try:
        with zygote.spawn(entry, {}, Policy(limits=REFERENCE_LIMITS)) as sandbox:
            body, files = sandbox.request(msgspec.to_builtins(request), _SECONDS)
    except SandboxFailure as error:
        raise TaskError(f"{task.id}: get_init_inputs fails: {error}") from error
    try:
        layout = msgspec.convert(body["layout"], Layout)
        arguments = msgspec.convert(body["arguments"], Node)
        return InitArguments(arguments, Blob.received(files[0], layout))
    except (msgspec.ValidationError, RecursionError, LookupError, ValueError, OSError) as error:
        raise TaskError(f"{task.id}: get_init_inputs gives a malformed answer: {error}") from error
