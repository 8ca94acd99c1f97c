"""model.py of a composed candidate: the state by its names, the outputs, one call."""

from collections.abc import Sequence

from kernelmill.generators.composer.graph import Extent, Graph, Source, Symbol
from kernelmill.records.task import Task

_HEAD = """import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.forward.argtypes = [ctypes.c_void_p] * {pointers} + [ctypes.c_int64] * {sizes}
_lib.forward.restype = None
"""
_HELPERS = {"floordiv": "a // b", "modulo": "a % b", "larger": "max(a, b)", "smaller": "min(a, b)"}
"""What expressions of sizes may call."""

Output = tuple[Sequence[Extent], str]


def emit_model(graph: Graph, task: Task, outputs: Sequence[Output]) -> str:
    used = [source for source in graph.sources if source.origin != "constant"]
    pointers = len(used) + len(outputs)
    head = _HEAD.format(pointers=pointers, sizes=len(graph.symbols))
    lines = [
        *helper_lines(graph, outputs),
        "",
        "",
        "class ModelNew(nn.Module):",
        "    def __init__(self, *arguments):",
        "        super().__init__()",
        *(f"        {line}" for line in state_lines(task, used)),
        "",
        *(f"    {line}" for line in _forward_lines(graph, task, used, outputs)),
    ]
    return head + "\n".join(lines) + "\n"


def helper_lines(graph: Graph, outputs: Sequence[Output]) -> list[str]:
    uses = " ".join([graph.returned, *(extent.code for shape, _ in outputs for extent in shape)])
    lines: list[str] = []
    for name, body in _HELPERS.items():
        if f"{name}(" in uses:
            lines += ["", "", f"def {name}(a, b):", f"    return {body}"]
    return lines


def _forward_lines(
    graph: Graph, task: Task, used: Sequence[Source], outputs: Sequence[Output]
) -> list[str]:
    count = len(task.shown.inputs.items or ())
    inputs = [source for source in used if source.origin == "input"]
    names = {source.key: f"x{source.key}" for source in inputs}
    lines = []
    for number, source in enumerate(inputs):
        if not source.key.isdigit():
            names[source.key] = f"item{number}"
        lines.append(f"{names[source.key]} = x{source.key}.contiguous()")
    for name, symbol in graph.symbols.items():
        lines.append(f"{name} = {measured(symbol, names)}")
    for number, (shape, dtype) in enumerate(outputs):
        sizes = ", ".join(extent.code for extent in shape) + ("," if len(shape) == 1 else "")
        lines.append(f"y{number} = torch.empty(({sizes}), dtype=torch.{dtype})")
    weights = iter(range(len(used)))
    tensors = [names[s.key] if s in inputs else f"self._used[{next(weights)}]" for s in used]
    arguments = [f"{tensor}.data_ptr()" for tensor in tensors]
    arguments += [f"y{number}.data_ptr()" for number in range(len(outputs))]
    arguments += list(graph.symbols)
    lines += ["_lib.forward(", *(f"    {argument}," for argument in arguments), ")"]
    lines.append(f"return {graph.returned}")
    parameters = ", ".join(["self", *(f"x{i}" for i in range(count))])
    return [f"def forward({parameters}):", *(f"    {line}" for line in lines)]


def measured(symbol: Symbol, names: dict[str, str]) -> str:
    size = f"{names[symbol.input]}.shape[{symbol.axis}]"
    return size if symbol.factor == 1 else f"{size} // {symbol.factor}"


def state_lines(task: Task, used: Sequence[Source]) -> list[str]:
    """Modules and parameters under the reference's names.

    Names of modules in a list are numbers, which no attribute can have: forward reaches its
    parameters through a list.
    """
    lines: list[str] = []
    modules = {"": "self"}
    parameters: dict[str, str] = {}
    for name, kind in task.state.items():
        path, _, leaf = name.rpartition(".")
        lines += _module_lines(path, modules)
        parameters[name] = f"p{len(parameters)}"
        empty = f"torch.empty({tuple(kind.shape)}, dtype=torch.{kind.dtype})"
        lines.append(f"{parameters[name]} = nn.Parameter({empty}, requires_grad=False)")
        lines.append(f"{modules[path]}.register_parameter({leaf!r}, {parameters[name]})")
    wanted = [parameters[source.key] for source in used if source.origin == "state"]
    return [*lines, f"self._used = [{', '.join(wanted)}]"] if wanted else lines


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
