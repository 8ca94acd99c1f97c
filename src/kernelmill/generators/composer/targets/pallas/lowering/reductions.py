"""Folds, norms and running folds."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    axes_of,
    cast,
    count,
    extent_of,
    fold,
    keyword,
    lowers,
    number,
    pointwise,
    reshape,
    without,
)
from kernelmill.generators.composer.targets.pallas.tensors import ONE, Iota, Scan, Tensor

_FOLDS = {"sum": "sum", "amax": "max", "amin": "min", "max": "max", "min": "min", "prod": "prod"}


def _axes(node: Node, tensor: Tensor, position: int = 1) -> list[int]:
    return axes_of(keyword(node, position, "dim"), len(tensor.shape))


def _kept(node: Node, position: int = 2) -> bool:
    return bool(keyword(node, position, "keepdim", False))


@lowers("sum", "amax", "amin", "prod.dim_int")
def _fold(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    axes = _axes(node, tensor)
    folded = fold(tensor, axes, _FOLDS[node.op.partition(".")[0]])
    return without(folded, axes, _kept(node))


@lowers("mean")
def _mean(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    axes = _axes(node, tensor)
    return without(mean(tensor, axes), axes, _kept(node))


def mean(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    return pointwise(f"{{0}} * (1.0 / ({count(tensor, axes)}))", fold(tensor, axes, "sum"))


def moments(lowering: Lowering, tensor: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean and variance, from differences or in one pass."""
    middle = mean(tensor, axes)
    if lowering.plan.moments == "one-pass":
        squares = mean(pointwise("{0} * {0}", tensor), axes)
        return middle, pointwise("{0} - {1} * {1}", squares, middle)
    apart = pointwise("{0} - {1}", tensor, middle)
    return middle, mean(pointwise("{0} * {0}", apart), axes)


@lowers("var")
def _variance(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    axes = _axes(node, tensor)
    correction = keyword(node, 2, "correction", 1)
    _, variance = moments(lowering, tensor, axes)
    if correction:
        whole = count(tensor, axes)
        factor = f"({whole}) / ({whole} - {number(correction)})"
        variance = pointwise(f"{{0}} * ({factor})", variance)
    return without(variance, axes, bool(node.keywords.get("keepdim", False)))


@lowers("any")
def _any(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(cast(lowering.value(node.arguments[0]), "bool"), "float32")
    axes = _axes(node, tensor)
    folded = pointwise("{0} > 0.0", fold(tensor, axes, "max"), dtype="bool")
    return without(folded, axes, _kept(node))


@lowers("linalg_vector_norm")
def _length(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    order = keyword(node, 1, "ord", 2)
    axes = _axes(node, tensor, 2)
    kept = _kept(node, 3)
    if order == 2:
        squares = fold(pointwise("{0} * {0}", tensor), axes, "sum")
        return without(pointwise("jnp.sqrt({0})", squares), axes, kept)
    if order == 1:
        return without(fold(pointwise("jnp.abs({0})", tensor), axes, "sum"), axes, kept)
    raise Declined(f"aten.linalg_vector_norm of order {order}")


@lowers("argmax", "argmin")
def _place(lowering: Lowering, node: Node) -> Tensor:
    """The first of the places where the extreme element is."""
    tensor = lowering.value(node.arguments[0])
    given = keyword(node, 1, "dim")
    if given is None:
        raise Declined(f"aten.{node.op} over all axes")
    axis = given % len(tensor.shape)
    extreme = fold(tensor, [axis], "max" if node.op == "argmax" else "min")
    at = Iota(tensor.shape, axis, "int64")
    found = "({0} == {1}) | ({0} != {0})"  # NaN is found first
    code = f"jnp.where({found}, {{2}}, {host(tensor.shape[axis].code)})"
    places = pointwise(code, tensor, extreme, at, dtype="int64")
    return without(fold(places, [axis], "min"), [axis], _kept(node))


def softmax(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    shifted = pointwise("jnp.exp({0} - {1})", tensor, fold(tensor, axes, "max"))
    return pointwise("{0} * (1.0 / {1})", shifted, fold(shifted, axes, "sum"))


@lowers("_softmax")
def _softmax(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    return softmax(tensor, [node.arguments[1] % len(tensor.shape)])


@lowers("_log_softmax")
def _log_softmax(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    axes = [node.arguments[1] % len(tensor.shape)]
    shifted = pointwise("{0} - {1}", tensor, fold(tensor, axes, "max"))
    total = fold(pointwise("jnp.exp({0})", shifted), axes, "sum")
    return pointwise("{0} - jnp.log({1})", shifted, total)


def _scaled(lowering: Lowering, tensor: Tensor, weight: Any, bias: Any, channels: int) -> Tensor:
    """Times a weight, plus a bias, which have `channels` axes behind their own."""
    for argument, code in ((weight, "{0} * {1}"), (bias, "{0} + {1}")):
        if argument is not None:
            vector = lowering.value(argument)
            placed = reshape(vector, [*vector.shape, *[ONE] * channels])
            tensor = pointwise(code, tensor, placed)
    return tensor


@lowers("native_layer_norm")
def _layer_norm(lowering: Lowering, node: Node) -> list[Tensor | None]:
    source, shape, weight, bias, epsilon = node.arguments
    tensor = lowering.value(source)
    rank = len(tensor.shape)
    middle, variance = moments(lowering, tensor, range(rank - len(shape), rank))
    scale = pointwise(f"lax.rsqrt({{0}} + {number(epsilon)})", variance)
    normal = pointwise("({0} - {1}) * {2}", tensor, middle, scale)
    return [_scaled(lowering, normal, weight, bias, 0), None, None]


@lowers("native_group_norm")
def _group_norm(lowering: Lowering, node: Node) -> list[Tensor | None]:
    source, weight, bias, _batch, _channels, _places, groups, epsilon = node.arguments
    tensor = lowering.value(source)
    batch, channels, *places = tensor.shape
    width = channels.value // int(groups)
    split = reshape(tensor, [batch, extent_of(int(groups)), extent_of(width), *places])
    middle, variance = moments(lowering, split, range(2, len(split.shape)))
    scale = pointwise(f"lax.rsqrt({{0}} + {number(epsilon)})", variance)
    normal = reshape(pointwise("({0} - {1}) * {2}", split, middle, scale), tensor.shape)
    return [_scaled(lowering, normal, weight, bias, len(places)), None, None]


@lowers("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit")
def _batch_norm(lowering: Lowering, node: Node) -> list[Tensor | None]:
    if node.op == "_native_batch_norm_legit":
        raise Declined("aten._native_batch_norm_legit that updates its statistics")
    source, weight, bias, _training, _momentum, epsilon = node.arguments
    tensor = lowering.value(source)
    rank = len(tensor.shape)
    middle, variance = moments(lowering, tensor, [0, *range(2, rank)])
    scale = pointwise(f"lax.rsqrt({{0}} + {number(epsilon)})", variance)
    normal = pointwise("({0} - {1}) * {2}", tensor, middle, scale)
    return [_scaled(lowering, normal, weight, bias, rank - 2), None, None]


@lowers("_native_batch_norm_legit_no_training")
def _batch_norm_running(lowering: Lowering, node: Node) -> list[Tensor | None]:
    source, weight, bias, middle, variance, _momentum, epsilon = node.arguments
    tensor = lowering.value(source)
    behind = len(tensor.shape) - 2
    scale = pointwise(f"lax.rsqrt({{0}} + {number(epsilon)})", lowering.value(variance))
    known = [lowering.value(middle), scale]
    placed = [reshape(vector, [*vector.shape, *[ONE] * behind]) for vector in known]
    normal = pointwise("({0} - {1}) * {2}", tensor, *placed)
    return [_scaled(lowering, normal, weight, bias, behind), None, None]


@lowers("cumsum", "cumprod", "logcumsumexp")
def _running(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    op = {"cumsum": "sum", "cumprod": "prod", "logcumsumexp": "logaddexp"}[node.op]
    return Scan(tensor, node.arguments[1] % len(tensor.shape), op)
