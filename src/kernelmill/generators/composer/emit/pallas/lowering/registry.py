"""ATen operators by name, and what they mean as tensors."""

from collections.abc import Callable, Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.pallas.tensors import (
    ONE,
    Broadcast,
    Fold,
    Map,
    Number,
    Permute,
    Reshape,
    Stored,
    Tensor,
    same_sizes,
)
from kernelmill.generators.composer.emit.triton.code import host
from kernelmill.generators.composer.graph import Extent, Graph, Node, Real, Reference, Size
from kernelmill.generators.composer.lowering.registry import axes_of, extent_of, keyword, wanted

__all__ = ["Lowering", "axes_of", "cast", "extent_of", "keyword", "lowers", "number"]

Rule = Callable[["Lowering", Node], Tensor | Sequence[Tensor | None]]
_RULES: dict[str, Rule] = {}

DTYPES = {"float32": "jnp.float32", "int64": "jnp.int32", "int32": "jnp.int32", "bool": "jnp.bool_"}
"""A TPU has no wide integers: indices are 32 bits."""
_INFINITE = {"inf": "jnp.inf", "-inf": "-jnp.inf", "nan": "jnp.nan"}


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of these names (`add.Tensor`, or `add` for all its forms)."""

    def register(rule: Rule) -> Rule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


class Lowering:
    """One walk over a graph: every node becomes a tensor."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan
        self._tensors: dict[Reference, Tensor] = {}
        for source in graph.sources:
            if source.kind.dtype not in DTYPES:
                raise Declined(f"tensors of type {source.kind.dtype}")
            kind = source.kind
            if source.origin == "constant" and len(source.values) == 1:
                made: Tensor = Number(number(source.values[0]), kind.dtype, kind.shape)
            else:
                made = Stored(source.name, kind.shape, kind.dtype)
            self._tensors[Reference(source.name)] = made

    def run(self) -> list[Tensor]:
        """The tensors of the graph's outputs."""
        needed = wanted(self.graph)
        for node in self.graph.nodes:
            if node.name in needed:
                self._lower(node)
        return [self.tensor(output) for output in self.graph.outputs]

    def tensor(self, argument: Any, dtype: str = "float32") -> Tensor:
        """An argument as a tensor, or a number of the given type."""
        if isinstance(argument, Reference):
            if argument not in self._tensors:
                raise Declined(f"result {argument.part} of {argument.node}")
            return self._tensors[argument]
        return Number(number(argument), dtype)

    def _lower(self, node: Node) -> None:
        rule = _RULES.get(node.op) or _RULES.get(node.op.partition(".")[0])
        if rule is None:
            raise Declined(f"the operator aten.{node.op}")
        for kind in node.results:
            if kind.dtype not in DTYPES:
                raise Declined(f"aten.{node.op} with a result of type {kind.dtype}")
        made = rule(self, node)
        parts = [made] if isinstance(made, Tensor) else list(made)
        for part, tensor in enumerate(parts):
            if tensor is not None:
                self._tensors[Reference(node.name, part)] = tensor


def number(value: Any) -> str:
    """A number as Python of the host or of a kernel."""
    if isinstance(value, Size):
        return f"({host(value.extent.code)})"
    if isinstance(value, Real):
        code = host(value.code).replace('float("inf")', "jnp.inf")
        return f"({code})"
    if isinstance(value, float) and str(value) in _INFINITE:
        return _INFINITE[str(value)]
    return repr(value) if value is True or value is False or value >= 0 else f"({value!r})"


def pointwise(template: str, *inputs: Tensor, dtype: str = "") -> Tensor:
    """With the shape all inputs broadcast to."""
    plain = [_unexpanded(tensor) for tensor in inputs]
    shape = broadcast_shape([tensor.shape for tensor in inputs])
    made = Map(template, plain, shape, dtype or inputs[0].dtype)
    found = broadcast_shape([tensor.shape for tensor in plain])
    return made if same_sizes(found, shape) else spread(made, found, shape)


def spread(made: Map, found: Sequence[Extent], shape: Sequence[Extent]) -> Tensor:
    """A function of repeated tensors is a repeated function of them."""
    return Broadcast(Map(made.template, made.inputs, found, made.dtype), shape)


def _unexpanded(tensor: Tensor) -> Tensor:
    return tensor.inputs[0] if isinstance(tensor, Broadcast) else tensor


def broadcast_shape(shapes: Sequence[Sequence[Extent]]) -> list[Extent]:
    rank = max(len(shape) for shape in shapes)
    sizes = [ONE] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            sizes[axis] = size if sizes[axis].code == "1" else sizes[axis]
    return sizes


def cast(tensor: Tensor, dtype: str) -> Tensor:
    if tensor.dtype == dtype:
        return tensor
    if isinstance(tensor, Number):
        return Number(tensor.code, dtype, tensor.shape)
    template = "({0} != 0)" if dtype == "bool" else f"{{0}}.astype({DTYPES[dtype]})"
    return pointwise(template, tensor, dtype=dtype)


def reshape(tensor: Tensor, shape: Sequence[Extent]) -> Tensor:
    while isinstance(tensor, Reshape):
        tensor = tensor.inputs[0]
    if isinstance(tensor, Number):
        return Number(tensor.code, tensor.dtype, shape)
    return tensor if same_sizes(tensor.shape, shape) else Reshape(tensor, shape)


def permute(tensor: Tensor, order: Sequence[int]) -> Tensor:
    if isinstance(tensor, Permute):
        order = [tensor.order[axis] for axis in order]
        tensor = tensor.inputs[0]
    return tensor if list(order) == list(range(len(order))) else Permute(tensor, order)


def fold(tensor: Tensor, axes: Sequence[int], op: str) -> Tensor:
    """Along axes, which stay with size one."""
    whole = Broadcast(tensor, tensor.shape) if isinstance(tensor, Number) else tensor
    return Fold(whole, axes, op)


def without(tensor: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """What a fold gave, with or without the axes it folded."""
    shape = [size for axis, size in enumerate(tensor.shape) if axis not in axes]
    return tensor if keep else reshape(tensor, shape)


def count(tensor: Tensor, axes: Sequence[int]) -> str:
    """How many elements a fold joins, as Python."""
    return " * ".join(f"({host(tensor.shape[axis].code)})" for axis in axes) or "1"
