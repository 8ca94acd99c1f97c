"""Runs graphs of the composer in torch, operator by operator, and checks their sizes on the way."""

import operator
from collections.abc import Sequence
from typing import Any

import torch

from kernelmill.generators.composer.ir.graph import Graph, Node, Real, Reference, Size, TensorSpec

_FUNCTIONS: dict[str, Any] = {
    "floordiv": operator.floordiv, "modulo": operator.mod, "larger": max, "smaller": min,
    "double": float,
}  # fmt: skip
_WHERE = ("layout", "device", "pin_memory", "memory_format")


def run_graph(
    graph: Graph, tensors: Sequence[torch.Tensor], dtype: torch.dtype = torch.float64
) -> list[torch.Tensor]:
    """The outputs, given a tensor for every source; floating numbers are of one type throughout."""
    running = _Running(graph, tensors, dtype)
    for node in graph.nodes:
        running.run(node)
    return [running.found[output] for output in graph.outputs]


class _Running:
    def __init__(self, graph: Graph, tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> None:
        self._dtype = dtype
        self.found = {
            Reference(source.name): tensor.to(dtype) if tensor.is_floating_point() else tensor
            for source, tensor in zip(graph.sources, tensors, strict=True)
        }
        places = {source.key: Reference(source.name) for source in graph.sources}
        self._sizes = {
            name: self.found[places[symbol.input]].shape[symbol.axis] // symbol.factor
            for name, symbol in graph.symbols.items()
        }

    def run(self, node: Node) -> None:
        name, _, form = node.op.partition(".")
        name = "reshape" if name == "view" else name  # graphs know no strides
        call = getattr(getattr(torch.ops.aten, name), form or "default")
        keywords = {
            key: self._value(value) for key, value in node.keywords.items() if key not in _WHERE
        }
        if "dtype" in keywords and keywords["dtype"].is_floating_point:
            keywords["dtype"] = self._dtype
        results = call(*map(self._value, node.arguments), **keywords)
        parts = [results] if isinstance(results, torch.Tensor) else list(results)
        for part, (result, kind) in enumerate(zip(parts, node.results, strict=True)):
            assert tuple(result.shape) == self._shape(kind), (node, result.shape)
            self.found[Reference(node.name, part)] = result

    def _shape(self, kind: TensorSpec) -> tuple[int, ...]:
        return tuple(self._number(extent.code) for extent in kind.shape)

    def _number(self, code: str) -> Any:
        return eval(code, {"__builtins__": {}}, _FUNCTIONS | self._sizes)

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, Reference):
            return self.found[argument]
        if isinstance(argument, Size):
            return self._number(argument.extent.code)
        if isinstance(argument, Real):
            return self._number(argument.code)
        if isinstance(argument, list):
            return [self._value(item) for item in argument]
        return getattr(torch, argument) if argument in ("float32", "float64", "int64") else argument
