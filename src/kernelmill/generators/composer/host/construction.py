"""The constructor of a candidate's ModelNew, and where forward finds its state."""

import ast
from collections.abc import Collection, Sequence
from typing import NamedTuple

from kernelmill.backends.support.python_rules import PythonRules
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.records.task import Task, TensorSpec
from kernelmill.syntax import parse_python

_IMPORTED = ("import torch", "import torch.nn as nn")
"""By every candidate."""
_STUB = "\n\n    def forward(self):\n        pass\n"


class Construction(NamedTuple):
    """The reference's own constructor; where that is not known, one that makes empty parameters."""

    module: list[str]
    """Lines before the class."""
    body: list[str]
    """Lines of the class, without indentation; those of `__init__` are the last."""
    buffers: frozenset[str]
    """Names of the state that are buffers of their modules."""

    def tensor(self, name: str) -> str:
        """A parameter or buffer of this name, as it is at the time of the call."""
        *path, leaf = name.split(".")
        kind = "_buffers" if name in self.buffers else "_parameters"
        return "".join(["self", *(f"._modules[{p!r}]" for p in path), f".{kind}[{leaf!r}]"])


def construct(
    graph: Graph, task: Task, more: Sequence[str] = (), reserved: Collection[str] = ()
) -> Construction:
    """`more` are lines at the end of `__init__`; `reserved` names the module defines otherwise."""
    found = _own_construction(graph.constructor, task, more, reserved)
    if found is not None:
        return found
    demand_state(graph, task)
    lines = [*state_lines(task), *more]
    head = ["def __init__(self, *arguments):", "    super().__init__()"]
    return Construction([], [*head, *(f"    {line}" for line in lines)], frozenset())


def demand_state(graph: Graph, task: Task) -> None:
    """Raise Declined for a buffer that no state dict has: only its constructor knows its values."""
    for source in graph.sources:
        if source.origin == "state" and source.key not in task.state:
            raise Declined(f"{source.key}, a buffer outside the state dict")


def _own_construction(
    source: str, task: Task, more: Sequence[str], reserved: Collection[str]
) -> Construction | None:
    """None where the source defines a reserved name, or does what a candidate may not."""
    if not source or PythonRules().check(source.rstrip() + _STUB, "model.py"):
        return None
    *others, model = parse_python(source).body
    names = {name for node in others for name in _bound(node)}
    if names & set(reserved) or any(name.startswith("kernel_") for name in names):
        return None
    lines = [line for node in others for line in ast.unparse(node).split("\n")]
    _head, *body = ast.unparse(model).split("\n")
    body = [line[4:] for line in body if line.strip() not in ("", "pass")]
    if more and not any(line.startswith("def __init__") for line in body):
        body = ["def __init__(self):", "    super().__init__()"]
    body += [f"    {line}" for line in more]
    return Construction(
        [line for line in lines if line not in _IMPORTED], body, frozenset(task.buffers)
    )


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [
            n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)
        ]
    return []


def state_lines(task: Task) -> list[str]:
    """Modules and parameters under the reference's names, to be filled from a state dict."""
    lines: list[str] = []
    modules = {"": "self"}
    for name, spec in task.state.items():
        path, _, leaf = name.rpartition(".")
        lines += _module_lines(path, modules)
        parameter = f"nn.Parameter({_unset(spec)}, requires_grad=False)"
        lines.append(f"{modules[path]}.register_parameter({leaf!r}, {parameter})")
    return lines


def _unset(spec: TensorSpec) -> str:
    """Values that show in every result, where no state dict was loaded."""
    shape, dtype = tuple(spec.shape), f"dtype=torch.{spec.dtype}"
    if "float" in spec.dtype:
        return f'torch.full({shape}, float("nan"), {dtype})'
    return f"torch.zeros({shape}, {dtype})"


def _module_lines(path: str, modules: dict[str, str]) -> list[str]:
    """Make the module of a dotted path, and those around it, where they are not known yet."""
    if path in modules:
        return []
    outer, _, name = path.rpartition(".")
    lines = _module_lines(outer, modules)
    modules[path] = f"m{len(modules)}"
    return [
        *lines,
        f"{modules[path]} = nn.Module()",
        f"{modules[outer]}.add_module({name!r}, {modules[path]})",
    ]
