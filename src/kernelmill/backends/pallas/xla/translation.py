"""Translation of a graph of core ATen to a JAX function. Used inside sandboxes only."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from kernelmill.backends.pallas.arrays import jax_dtype
from kernelmill.backends.pallas.xla.graph import AtenGraph
from kernelmill.backends.pallas.xla.operators import OPERATORS


class UnsupportedOperator(Exception):
    """The graph contains an operator that has no translation."""


def translate_graph(
    graph: AtenGraph, constants: Sequence[npt.NDArray[Any]]
) -> Callable[..., list[Any]]:
    """A function of the call's tensors, in the order of the graph."""
    unknown = sorted({node.op for node in graph.nodes} - OPERATORS.keys())
    if unknown:
        raise UnsupportedOperator(f"no translation of {', '.join(unknown)}")

    def function(*tensors: Any) -> list[Any]:
        values = dict(zip(graph.constants, constants, strict=True))
        values |= dict(zip(graph.tensors, tensors, strict=True))
        for node in graph.nodes:
            arguments = [_resolve(argument, values) for argument in node.arguments]
            keywords = {name: _resolve(value, values) for name, value in node.keywords.items()}
            values[node.name] = OPERATORS[node.op](*arguments, **keywords)
        return [values[name] for name in graph.outputs]

    return function


def _resolve(argument: Any, values: dict[str, Any]) -> Any:
    if isinstance(argument, list):
        return [_resolve(item, values) for item in argument]
    if not isinstance(argument, dict):
        return argument
    if argument["type"] == "ref":
        return values[argument["node"]]
    if argument["type"] == "real":
        return float(argument["text"])
    return jax_dtype(argument["name"])
