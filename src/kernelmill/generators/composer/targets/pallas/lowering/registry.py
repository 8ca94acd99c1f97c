"""ATen operators by name, and what they mean as tensors."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Real, Size, Source
from kernelmill.generators.composer.lowering.registry import axes_of, extent_of, keyword
from kernelmill.generators.composer.lowering.walk import Walk, registering
from kernelmill.generators.composer.targets.pallas.tensors import (
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

__all__ = ["Lowering", "axes_of", "cast", "extent_of", "keyword", "lowers", "number"]

DTYPES = {"float32": "jnp.float32", "int64": "jnp.int32", "int32": "jnp.int32", "bool": "jnp.bool_"}
"""A TPU has no wide integers: indices are 32 bits."""
_INFINITE = {"inf": "jnp.inf", "-inf": "-jnp.inf", "nan": "jnp.nan"}


class Lowering(Walk[Tensor]):
    """Every node becomes a tensor."""

    rules: ClassVar[dict[str, Callable[..., Tensor | Sequence[Tensor | None]]]] = {}
    dtypes = DTYPES

    def _source(self, source: Source) -> Tensor:
        kind = source.kind
        if source.origin == "constant" and len(source.values) == 1:
            return Number(number(source.values[0]), kind.dtype, kind.shape)
        return Stored(source.name, kind.shape, kind.dtype)

    def _number(self, argument: Any, dtype: str) -> Tensor:
        return Number(number(argument), dtype)


lowers = registering(Lowering.rules)


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
