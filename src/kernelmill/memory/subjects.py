"""What similarity is measured on: a task, what was done, and how far one is."""

from kernelmill.generators.decisions import Decisions
from kernelmill.tasks.task import Task

_MOST_OPERATORS = 24


def task_subject(task: Task) -> str:
    """The task in the words that make two tasks alike: family, operators, shapes."""
    operators = " ".join(name.removeprefix("aten.") for name in task.signature[:_MOST_OPERATORS])
    shapes = " ".join(str(kind) for kind in task.shown.tensors)
    return f"{task.family} {task.family} {operators} {task.id.rpartition('/')[2]} {shapes}"


def described(decisions: Decisions) -> str:
    return ", ".join(f"{name}={choice}" for name, choice in sorted(decisions.items()))
