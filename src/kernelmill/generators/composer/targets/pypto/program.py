"""A candidate in PyPTO: a kernel for every operator, and forward, which calls them in order."""

from importlib.resources import files

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.construction import Construction, construct
from kernelmill.generators.composer.host.forward import forward_head, given_lines, tensor_names
from kernelmill.generators.composer.host.guards import (
    Framework,
    Guards,
    other_torch_type,
    refuse_lines,
)
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pypto.held import Held
from kernelmill.generators.composer.targets.pypto.lowering import LACKING, Lowering
from kernelmill.generators.composer.targets.pypto.writer import as_tuple
from kernelmill.records.task import Task

_RUNTIME = "kernelmill.generators.composer.targets.pypto"
_TORCH = Framework(other_torch_type, "{0}.dim()", host)
_RESERVED = ("math", "torch", "nn", "pypto", "refuse", "tile")
_DECORATOR = "@pypto.frontend.jit"


def lacking_operators(graph: Graph) -> str:
    """What a graph needs and PyPTO does not have on this chip, in a few words; else empty."""
    found = {
        words
        for node in graph.nodes
        for name, words in LACKING.items()
        if node.op.strip("_").startswith(name)
    }
    return ", ".join(sorted(found))


class PyptoProgram:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph = graph
        self._used = [source for source in graph.sources if source.origin != "constant"]
        if any(s.origin == "constant" and len(s.values) > 1 for s in graph.sources):
            raise Declined("a constant of several elements outside the state dict")
        self._names = tensor_names(self._used)
        lowering = Lowering(graph, plan, self._names)
        self._outputs = [lowering.writer.contiguous(output) for output in lowering.run()]
        self._kernels, self._lines = lowering.writer.kernels, lowering.writer.lines
        if not self._kernels:
            raise Declined("no operator that computes")

    def files(self, task: Task) -> dict[str, str]:
        construction = construct(self._graph, task, reserved=_RESERVED)
        model = self._model(task, construction)
        imports = ["import pypto", "import torch", "import torch.nn as nn"]
        if any("math." in line for line in model):
            imports.insert(0, "import math\n")
        parts = [
            "\n".join(imports),
            *(f"{_DECORATOR}\ndef {name}{text}" for text, name in self._kernels.items()),
            _tile_function(),
            *(["\n".join(own)] if (own := construction.module) else []),
            "\n".join(refuse_lines()),
            "\n".join(model),
        ]
        return {"model.py": "\n\n\n".join(parts) + "\n"}

    def _model(self, task: Task, construction: Construction) -> list[str]:
        body = [*construction.body, *([""] if construction.body else [])]
        body += [forward_head(task), *(f"    {line}" for line in self._forward(construction))]
        return ["class ModelNew(nn.Module):", *(f"    {line}" if line else "" for line in body)]

    def _forward(self, construction: Construction) -> list[str]:
        guards = Guards(self._graph, self._names, _TORCH)
        lines = given_lines(self._graph, self._used, self._names, guards, construction)
        first = next(iter(self._names.values()), "torch.empty(0)")
        lines.append(f"device = {first}.device")
        lines += self._lines
        given = set(self._names.values())
        for at, output in enumerate(self._outputs):
            lines.append(f"y{at} = {_returned(output, given)}")
        return [*lines, f"return {self._graph.returned}"]


def _returned(output: Held, given: set[str]) -> str:
    if output.name in given:
        raise Declined("a result that is an input")
    return f"{output.name}.view({as_tuple([host(size.code) for size in output.shape])})"


def _tile_function() -> str:
    text = (files(_RUNTIME) / "runtime" / "functions.py").read_text()
    return text[text.index("def ") :].rstrip()
