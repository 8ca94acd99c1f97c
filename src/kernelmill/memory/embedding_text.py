"""Texts that items and queries are embedded by: a task, and the decisions of a kernel."""

from kernelmill.records.decisions import Decisions
from kernelmill.records.task import Task

_MOST_OPERATORS = 24


def task_text(task: Task) -> str:
    """Family, operators, name and shapes. The family is repeated: it weighs most in similarity."""
    operators = " ".join(name.removeprefix("aten.") for name in task.signature[:_MOST_OPERATORS])
    shapes = " ".join(str(spec) for spec in task.shown.tensors)
    return f"{task.family} {task.family} {operators} {task.id.rpartition('/')[2]} {shapes}"


def decisions_text(decisions: Decisions) -> str:
    return ", ".join(f"{name}={choice}" for name, choice in sorted(decisions.items()))
