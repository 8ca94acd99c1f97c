"""What a generator may see of a task file."""

import ast
import re

from kernelmill.syntax import parse
from kernelmill.tasks.task import Task

_SECRET = frozenset({"HIDDEN", "SCALES"})
"""Sizes that are tried behind its back, and those of another scale."""


def shown_source(task: Task) -> str:
    """The file without them."""
    lines = task.source.splitlines(keepends=True)
    for node in parse(task.source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id in _SECRET for target in targets):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines)).strip() + "\n"
