"""Source of a task as a generator may see it."""

import ast
import re

from kernelmill.records.task import Task
from kernelmill.syntax import parse_python

_NOT_SHOWN = frozenset({"HIDDEN", "SCALES", "PROMISES", "REPAIR", "_CASES"})
"""Assignments with the sizes of hidden variants and of other scales, and with what the description
of the task has found out about its inputs."""


def shown_source(task: Task) -> str:
    """The task file without its hidden sizes."""
    lines = task.source.splitlines(keepends=True)
    for node in parse_python(task.source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id in _NOT_SHOWN for target in targets):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines)).strip() + "\n"
