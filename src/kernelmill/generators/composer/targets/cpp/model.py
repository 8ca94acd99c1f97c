"""model.py of a composed candidate: the state by its names, the outputs, one call."""

from collections.abc import Sequence

from kernelmill.generators.composer.host.construction import Construction, construct
from kernelmill.generators.composer.host.forward import forward_head, given_lines, tensor_names
from kernelmill.generators.composer.host.guards import (
    Framework,
    Guards,
    other_torch_type,
    refuse_lines,
)
from kernelmill.generators.composer.ir.graph import Extent, Graph, Source
from kernelmill.records.task import Task

_HEAD = """import ctypes
import pathlib

import torch
import torch.nn as nn

_cpu = torch.device("cpu")
_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.forward.argtypes = [ctypes.c_void_p] * {pointers} + [ctypes.c_int64] * {sizes}
_lib.forward.restype = None
"""
_HELPERS = {"floordiv": "a // b", "modulo": "a % b", "larger": "max(a, b)", "smaller": "min(a, b)"}
"""What expressions of sizes may call."""
_RESERVED = ("ctypes", "pathlib", "torch", "nn", "_cpu", "_lib", "refuse", *_HELPERS)
_TORCH = Framework(other_torch_type, "{0}.dim()", device="_cpu")

Output = tuple[Sequence[Extent], str]


def emit_model(graph: Graph, task: Task, outputs: Sequence[Output]) -> str:
    used = [source for source in graph.sources if source.origin != "constant"]
    pointers = len(used) + len(outputs)
    head = _HEAD.format(pointers=pointers, sizes=len(graph.symbols))
    construction = construct(graph, task, reserved=_RESERVED)
    body = [*construction.body, *([""] if construction.body else [])]
    body += _forward_lines(graph, task, used, outputs, construction)
    lines = [
        *construction.module,
        *helper_lines(graph, outputs),
        "",
        "",
        *refuse_lines("CPU"),
        "",
        "",
        "class ModelNew(nn.Module):",
        *(f"    {line}" if line else "" for line in body),
    ]
    return head + "\n".join(lines) + "\n"


def helper_lines(graph: Graph, outputs: Sequence[Output]) -> list[str]:
    shapes = [*(shape for shape, _ in outputs), *(source.kind.shape for source in graph.sources)]
    codes = [extent.code for shape in shapes for extent in shape]
    uses = " ".join([graph.returned, *graph.conditions, *codes])
    lines: list[str] = []
    for name, body in _HELPERS.items():
        if f"{name}(" in uses:
            lines += ["", "", f"def {name}(a, b):", f"    return {body}"]
    return lines


def _forward_lines(
    graph: Graph,
    task: Task,
    used: Sequence[Source],
    outputs: Sequence[Output],
    construction: Construction,
) -> list[str]:
    names = tensor_names(used)
    guards = Guards(graph, names, _TORCH)
    lines = given_lines(graph, used, names, guards, construction)
    for number, (shape, dtype) in enumerate(outputs):
        sizes = ", ".join(extent.code for extent in shape) + ("," if len(shape) == 1 else "")
        lines.append(f"y{number} = torch.empty(({sizes}), dtype=torch.{dtype}, device=_cpu)")
    arguments = [f"{names[source.name]}.data_ptr()" for source in used]
    arguments += [f"y{number}.data_ptr()" for number in range(len(outputs))]
    arguments += list(graph.symbols)
    lines += ["_lib.forward(", *(f"    {argument}," for argument in arguments), ")"]
    lines.append(f"return {graph.returned}")
    return [forward_head(task), *(f"    {line}" for line in lines)]
