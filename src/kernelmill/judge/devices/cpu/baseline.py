"""Baselines on the CPU: eager PyTorch and torch.compile, called in forks as candidates are."""

from kernelmill.judge.cases import secret_seed
from kernelmill.judge.devices.cpu.template import Template
from kernelmill.judge.protocol import ReferenceRequest
from kernelmill.judge.reference import REFERENCE_LIMITS
from kernelmill.judge.runner_handle import RunnerHandle, RunnerRaised
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.sandbox import Policy, SandboxFailure, Zygote

_SECONDS = 120.0
_COMPILE_SECONDS = 300.0


def start_baseline(task: Task, zygote: Zygote, settings: JudgeSettings, compiled: bool) -> Template:
    """The task's Model, eager or compiled, after some calls. Raises TaskError.

    What separates a baseline from a candidate is the model alone: both are forked before every
    batch and get warm by one call there. So neither has the fresher memory.
    """
    policy = Policy(limits=REFERENCE_LIMITS, may_execute=compiled, forked=not compiled)
    request = ReferenceRequest(task.source, task.scale, secret_seed(), compiled)
    seconds = _COMPILE_SECONDS if compiled else _SECONDS
    try:
        sandbox = zygote.spawn(f"{RUNNER}:run_baseline", {"threads": settings.threads}, policy)
    except SandboxFailure as error:
        raise TaskError(f"{task.id}: the reference does not start: {error}") from error
    try:
        RunnerHandle(sandbox).load(request, (), seconds)
        template = Template(sandbox, settings.seconds)
        with template.fork():
            return template
    except (SandboxFailure, RunnerRaised) as error:
        sandbox.close()
        raise TaskError(f"{task.id}: the reference does not run: {error}") from error
