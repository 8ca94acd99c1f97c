"""model.py of a composed candidate: the state by its names, the outputs, one call."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.graph import Extent, Graph
from kernelmill.tasks.task import Task

_HEAD = """import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.forward.argtypes = [ctypes.c_void_p] * {pointers} + [ctypes.c_int64] * {sizes}
_lib.forward.restype = None

"""


def emit_model(graph: Graph, task: Task, outputs: Sequence[tuple[Sequence[Extent], str]]) -> str:
    state = [source for source in graph.sources if source.origin == "state"]
    if any(source.origin == "constant" for source in graph.sources):
        raise Declined("a constant tensor outside the state dict")
    inputs = [source for source in graph.sources if source.origin == "input"]
    pointers = len(state) + len(inputs) + len(outputs)
    text = _HEAD.format(pointers=pointers, sizes=len(graph.symbols))
    uses = " ".join(extent.code for shape, _ in outputs for extent in shape)
    if "floordiv(" in uses:
        text += "\ndef floordiv(a, b):\n    return a // b\n\n"
    if "larger(" in uses:
        text += "\ndef larger(a, b):\n    return max(a, b)\n\n"
    lines = [
        "class ModelNew(nn.Module):",
        "    def __init__(self, *arguments):",
        "        super().__init__()",
    ]
    lines += _state_lines(task)
    count = max((int(source.key) for source in inputs), default=-1) + 1
    count = max(count, _input_count(task))
    lines += ["", f"    def forward(self, {', '.join(f'x{i}' for i in range(count))}):"]
    lines += [f"        x{s.key} = x{s.key}.contiguous()" for s in inputs]
    lines += [
        f"        {name} = x{place[0]}.shape[{place[1]}]" for name, place in graph.symbols.items()
    ]
    for number, (shape, dtype) in enumerate(outputs):
        sizes = ", ".join(extent.code for extent in shape) + ("," if len(shape) == 1 else "")
        lines.append(f"        y{number} = torch.empty(({sizes}), dtype=torch.{dtype})")
    arguments = []
    for source in graph.sources:
        name = f"x{source.key}" if source.origin == "input" else f"self.{source.key}"
        arguments.append(f"{_reachable(name)}.data_ptr()")
    arguments += [f"y{number}.data_ptr()" for number in range(len(outputs))]
    arguments += list(graph.symbols)
    lines += ["        _lib.forward(", *(f"            {a}," for a in arguments), "        )"]
    results = ", ".join(f"y{number}" for number in range(len(outputs)))
    lines.append(f"        return {results}")
    return text + "\n" + "\n".join(lines) + "\n"


def _input_count(task: Task) -> int:
    return len(task.shown.inputs.items or ())


def _reachable(path: str) -> str:
    """A dotted path in which modules of a list have numbers for names."""
    return ".".join(f"m{part}" if part.isdigit() else part for part in path.split("."))


def _state_lines(task: Task) -> list[str]:
    lines: list[str] = []
    known: set[str] = set()
    for name, kind in task.state.items():
        *modules, leaf = name.split(".")
        for depth in range(1, len(modules) + 1):
            path = ".".join(modules[:depth])
            if path not in known:
                known.add(path)
                lines += _module_lines(modules[:depth])
        owner = _reachable(".".join(["self", *modules]))
        value = f"nn.Parameter(torch.empty({tuple(kind.shape)}, dtype=torch.{kind.dtype}), requires_grad=False)"
        lines.append(f"        {owner}.register_parameter({leaf!r}, {value})")
    return lines


def _module_lines(modules: list[str]) -> list[str]:
    owner = _reachable(".".join(["self", *modules[:-1]]))
    if modules[-1].isdigit():
        raise Declined("modules in a list")
    return [f"        {owner}.{modules[-1]} = nn.Module()"]
