"""The reference in a cell of its own: what makes the cases, and eager's or the compiler's time."""

import secrets

from kernelmill.errors import TaskError
from kernelmill.judge.loading import REFERENCE_LIMITS, RUNNER, read_init_arguments
from kernelmill.judge.protocol import ReferenceRequest
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import RunnerRaised, Subject
from kernelmill.sandbox import CellFailure, Policy, Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments

_SECONDS = 120.0
_SEED_BITS = 60


def start_reference(task: Task, zygote: Zygote, settings: Settings, compiled: bool) -> Subject:
    """A runner with the task's Model. Raises TaskError."""
    policy = Policy(limits=REFERENCE_LIMITS, may_execute=compiled)
    seed = secrets.randbits(_SEED_BITS)
    request = ReferenceRequest(task.source, task.scale, seed, compiled)
    try:
        cell = zygote.spawn(f"{RUNNER}:run_reference", {"threads": settings.threads}, policy)
        subject = Subject(cell)
        subject.load(request, (), _SECONDS)
    except (CellFailure, RunnerRaised) as error:
        raise TaskError(f"{task.id}: the reference does not load: {error}") from error
    return subject


def init_arguments(task: Task, zygote: Zygote) -> InitArguments:
    try:
        return read_init_arguments(task, zygote)
    except CellFailure as error:
        raise TaskError(f"{task.id}: get_init_inputs fails: {error}") from error
