"""Folds along axes, norms, softmax, scans and losses built from them."""

import math
from collections.abc import Sequence
from typing import Any

from kernelmill.generators.composer.ir.expressions import (
    LARGEST_PLACE,
    Argument,
    Cast,
    Constant,
    Expression,
    apply,
    select,
)
from kernelmill.generators.composer.ir.graph import Extent, Node, Real
from kernelmill.generators.composer.ir.index import ZERO, Index, product
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Coordinate,
    Literal,
    Map,
    Reduce,
    Scan,
    Value,
    View,
)
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    axes_of,
    broadcast,
    cast,
    extent_of,
    keyword,
    literal,
    lowers,
)
from kernelmill.generators.composer.lowering.views import reshape

X, Y, Z = Argument(0), Argument(1), Argument(2)
_PLAIN = {
    "sum": "sum", "amax": "max", "amin": "min", "prod": "prod", "any": "any", "all": "all",
}  # fmt: skip


def folded(source: Value, axes: Sequence[int], op: str, dtype: str = "") -> Value:
    """A fold that keeps its axes, with size one."""
    reduce = Reduce(source, axes, op, dtype or source.dtype)
    return kept(reduce, source.shape, axes)


def kept(value: Value, shape: Sequence[Extent], axes: Sequence[int]) -> Value:
    """Give the folded axes back, with size one."""
    one = Extent("1", 1)
    full = [one if axis in axes else extent for axis, extent in enumerate(shape)]

    def remap(index: Index) -> Index:
        return Index([part for axis, part in enumerate(index.parts) if axis not in axes])

    return View(value, full, remap)


def pointwise(
    function: Expression, *values: Value, shape: Sequence[Extent], dtype: str = ""
) -> Value:
    spread = [broadcast(value, shape) for value in values]
    return Map(function, spread, dtype or values[0].dtype, shape)


def moments(lowering: Lowering, source: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """Mean and (biased) variance along axes, which are kept."""
    count = literal_count(source, axes)
    if lowering.plan.moments == "joint":
        total = folded(source, axes, "sum")
        mean = Map(X / Y, [total, count], source.dtype, total.shape)
        spread = folded(source, axes, "spread")
        return mean, Map(X / Y, [spread, count], source.dtype, mean.shape)
    start = _first(source, axes)
    shifted = pointwise(X - Y, source, start, shape=source.shape)
    total = folded(shifted, axes, "sum")
    mean = Map(X + Y / Z, [start, total, count], source.dtype, total.shape)
    if lowering.plan.moments == "one-pass":
        squares = Map(X * X, [shifted], source.dtype, source.shape)
        square_sum = folded(squares, axes, "sum")
        spread_of_all = apply(Operator.POSITIVE, (X - Y * Y / Z) / Z)
        return mean, Map(spread_of_all, [square_sum, total, count], source.dtype, mean.shape)
    difference = pointwise(X - Y, source, mean, shape=source.shape)
    squares = Map(X * X, [difference], source.dtype, source.shape)
    variance = folded(squares, axes, "sum")
    return mean, Map(X / Y, [variance, count], source.dtype, mean.shape)


def _first(source: Value, axes: Sequence[int]) -> Value:
    """The first element along axes, which are kept: differences from it are small, and nought in
    a row of equal elements, whose mean must come out exactly."""
    one = Extent("1", 1)
    shape = [one if axis in axes else extent for axis, extent in enumerate(source.shape)]

    def remap(index: Index) -> Index:
        return Index([ZERO if axis in axes else part for axis, part in enumerate(index.parts)])

    return View(source, shape, remap)


def literal_count(source: Value, axes: Sequence[int]) -> Literal:
    count = product([source.shape[axis] for axis in axes])
    return Literal(Cast(source.dtype, size(count)), source.dtype)


@lowers(*_PLAIN, "argmax", "argmin")
def _fold(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    name = node.op.partition(".")[0]
    dtype = node.results[0].dtype
    axes = axes_of(keyword(node, 1, "dim"), len(source.shape))
    placed = name in ("argmax", "argmin")
    if name in ("any", "all"):
        source = cast(source, "bool")
    elif name in ("sum", "prod"):
        source = cast(source, dtype)
    elif placed and keyword(node, 1, "dim") is None:
        source = reshape(source, [product(source.shape)])
        axes = [0]
    reduce = (
        _place_of(lowering, source, axes, name)
        if placed
        else Reduce(source, axes, _PLAIN[name], dtype)
    )
    keep = keyword(node, 2, "keepdim", False)
    return kept(reduce, source.shape, axes) if keep else reduce


def _place_of(lowering: Lowering, source: Value, axes: Sequence[int], op: str) -> Value:
    """The first place of the greatest (or least) element along one axis."""
    (axis,) = axes
    if axis == len(source.shape) - 1 or lowering.folds_places:
        return Reduce(source, axes, op, "int64")
    extreme = folded(source, axes, op.removeprefix("arg"))
    place = Coordinate(source.shape, axis)
    places = pointwise(
        place_if_reached(LARGEST_PLACE), source, extreme, place, shape=source.shape, dtype="int64"
    )
    return Reduce(places, axes, "min", "int64")


def place_if_reached(otherwise: Expression) -> Expression:
    """Of an element, the extreme one and its place: the place where both are the same, or NaN."""
    same, invalid = apply(Operator.EQ, X, Y), apply(Operator.NE, X, X)
    return select(apply(Operator.BIT_OR, same, invalid), Z, otherwise)


@lowers("mean")
def _mean(lowering: Lowering, node: Node) -> Value:
    source = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    axes = axes_of(keyword(node, 1, "dim"), len(source.shape))
    total = Reduce(source, axes, "sum", source.dtype)
    mean = Map(X / Y, [total, literal_count(source, axes)], source.dtype, total.shape)
    return kept(mean, source.shape, axes) if keyword(node, 2, "keepdim", False) else mean


@lowers("max.dim", "min.dim")
def _extreme(lowering: Lowering, node: Node) -> list[Value]:
    source = lowering.value(node.arguments[0])
    axes = axes_of(node.arguments[1], len(source.shape))
    name = node.op.partition(".")[0]
    results: list[Value] = [
        Reduce(source, axes, name, source.dtype),
        _place_of(lowering, source, axes, f"arg{name}"),
    ]
    if keyword(node, 2, "keepdim", False):
        return [kept(result, source.shape, axes) for result in results]
    return results


@lowers("max", "min")
def _extreme_of_all(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    name = node.op.partition(".")[0]
    return Reduce(source, range(len(source.shape)), name, source.dtype)


@lowers("var.correction", "std.correction", "var_mean.correction")
def _variance(lowering: Lowering, node: Node) -> Value | list[Value]:
    source = lowering.value(node.arguments[0])
    axes = axes_of(keyword(node, 1, "dim"), len(source.shape))
    correction = keyword(node, 2, "correction")
    correction = 1 if correction is None else correction
    mean, variance = moments(lowering, source, axes)
    count = literal_count(source, axes)
    less = count.number - literal(correction, source.dtype)
    factor = Literal(count.number / less, source.dtype)
    function = apply(Operator.SQRT, X * Y) if node.op.startswith("std") else X * Y
    result = Map(function, [variance, factor], source.dtype, variance.shape)
    keep = keyword(node, 3, "keepdim", False)
    results = [part if keep else dropped(part, axes) for part in (result, mean)]
    return results if node.op.startswith("var_mean") else results[0]


def dropped(value: Value, axes: Sequence[int]) -> Value:
    """Remove axes of size one."""
    shape = [extent for axis, extent in enumerate(value.shape) if axis not in axes]
    rank = len(value.shape)

    def remap(index: Index) -> Index:
        parts = iter(index.parts)
        return Index([ZERO if axis in axes else next(parts) for axis in range(rank)])

    return View(value, shape, remap)


_NORMS = {
    0: (apply(Operator.NE, X, 0), "sum", X),
    1: (apply(Operator.ABS, X), "sum", X),
    2: (X * X, "sum", apply(Operator.SQRT, X)),
    math.inf: (apply(Operator.ABS, X), "max", X),
    -math.inf: (apply(Operator.ABS, X), "min", X),
}
"""Of an order: what is folded, how, and what becomes of the result."""


@lowers("linalg_vector_norm")
def _vector_norm(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    order = keyword(node, 1, "ord", 2)
    order = {None: 2, Real("km::inf"): float("inf"), Real("-km::inf"): float("-inf")}.get(
        order, order
    )
    axes = axes_of(keyword(node, 2, "dim"), len(source.shape))
    inside, op, outside = _NORMS.get(order) or (
        apply(Operator.POW, apply(Operator.ABS, X), literal(order, source.dtype)),
        "sum",
        apply(Operator.POW, X, literal(1 / order, source.dtype)),
    )
    mapped = Map(inside, [source], source.dtype, source.shape)
    reduce = Reduce(mapped, axes, op, source.dtype)
    result = Map(outside, [reduce], source.dtype, reduce.shape)
    return kept(result, source.shape, axes) if keyword(node, 3, "keepdim", False) else result


@lowers("_softmax", "_log_softmax")
def _softmax(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    axes = axes_of(node.arguments[1], len(source.shape))
    return softmax(source, axes, logarithm=node.op.startswith("_log"))


def softmax(source: Value, axes: Sequence[int], logarithm: bool = False) -> Value:
    largest = folded(source, axes, "max")
    shifted = pointwise(X - Y, source, largest, shape=source.shape)
    powers = Map(apply(Operator.EXP_NONPOSITIVE, X), [shifted], source.dtype, source.shape)
    total = folded(powers, axes, "sum")
    if not logarithm:
        inverse = Map(1 / X, [total], source.dtype, total.shape)
        return pointwise(X * Y, powers, inverse, shape=source.shape)
    level = Map(apply(Operator.LOG, X), [total], source.dtype, total.shape)
    return pointwise(X - Y, shifted, level, shape=source.shape)


@lowers("logsumexp")
def _logsumexp(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    axes = axes_of(node.arguments[1], len(source.shape))
    largest = folded(source, axes, "max")
    level = select(apply(Operator.EQ, Y, Constant(-math.inf, "float32")), 0, Y)
    powers = pointwise(
        apply(Operator.EXP_NONPOSITIVE, X - level), source, largest, shape=source.shape
    )
    total = folded(powers, axes, "sum")
    infinite = apply(Operator.EQ, Y, Constant(math.inf, "float32"))
    function = select(infinite, Y, apply(Operator.LOG, X) + Y)  # infinity minus itself made X NaN
    result = Map(function, [total, largest], source.dtype, total.shape)
    return result if keyword(node, 2, "keepdim", False) else dropped(result, axes)


def _scaled(
    source: Value, mean: Value, inverse: Value, weight: Value | None, bias: Value | None
) -> Value:
    result = pointwise((X - Y) * Z, source, mean, inverse, shape=source.shape)
    if weight is not None:
        result = pointwise(X * Y, result, weight, shape=source.shape)
    if bias is not None:
        result = pointwise(X + Y, result, bias, shape=source.shape)
    return result


def _inverse(variance: Value, epsilon: Any) -> Value:
    function = 1 / apply(Operator.SQRT, X + literal(epsilon, variance.dtype))
    return Map(function, [variance], variance.dtype, variance.shape)


@lowers("native_layer_norm")
def _layer_norm(lowering: Lowering, node: Node) -> list[Value]:
    source, shape, weight, bias, epsilon = node.arguments
    value = lowering.value(source)
    axes = list(range(len(value.shape) - len(shape), len(value.shape)))
    mean, variance = moments(lowering, value, axes)
    inverse = _inverse(variance, epsilon)
    gain = lowering.value(weight) if weight is not None else None
    shift = lowering.value(bias) if bias is not None else None
    return [_scaled(value, mean, inverse, gain, shift), mean, inverse]


@lowers("native_group_norm")
def _group_norm(lowering: Lowering, node: Node) -> list[Value | None]:
    source, weight, bias, _batch, channels, _area, groups, epsilon = node.arguments
    value = lowering.value(source)
    width = extent_of(channels).value // int(groups)
    split = [
        value.shape[0],
        Extent(str(groups), int(groups)),
        Extent(str(width), width),
        *value.shape[2:],
    ]
    grouped = reshape(value, split)
    axes = list(range(2, len(split)))
    mean, variance = moments(lowering, grouped, axes)

    def per_channel(argument: Any) -> Value | None:
        if argument is None:
            return None
        one = Extent("1", 1)
        shape = [split[1], split[2], *[one] * (len(split) - 3)]
        return reshape(lowering.value(argument), shape)

    result = _scaled(
        grouped, mean, _inverse(variance, epsilon), per_channel(weight), per_channel(bias)
    )
    return [reshape(result, value.shape), None, None]


def _channel(lowering: Lowering, argument: Any, rank: int) -> Value | None:
    """A vector of channels, to stand beside a tensor whose axis 1 they are."""
    if argument is None:
        return None
    vector = lowering.value(argument)
    return reshape(vector, [vector.shape[0], *[Extent("1", 1)] * (rank - 2)])


@lowers("_native_batch_norm_legit", "_native_batch_norm_legit_functional")
def _batch_norm(lowering: Lowering, node: Node) -> list[Value | None]:
    """With the statistics of the batch. What it would write back into buffers has no reader."""
    source, weight, bias = node.arguments[:3]
    epsilon = node.arguments[-1]
    value = lowering.value(source)
    rank = len(value.shape)
    axes = [axis for axis in range(rank) if axis != 1]
    mean, variance = moments(lowering, value, axes)
    gain, shift = (_channel(lowering, argument, rank) for argument in (weight, bias))
    return [_scaled(value, mean, _inverse(variance, epsilon), gain, shift), None, None, None, None]


@lowers("_native_batch_norm_legit_no_training")
def _batch_norm_running(lowering: Lowering, node: Node) -> list[Value | None]:
    source, weight, bias, mean, variance, _momentum, epsilon = node.arguments
    value = lowering.value(source)
    rank = len(value.shape)
    gain, shift, middle, spread = (
        _channel(lowering, argument, rank) for argument in (weight, bias, mean, variance)
    )
    assert middle is not None and spread is not None
    return [_scaled(value, middle, _inverse(spread, epsilon), gain, shift), None, None]


_SCANS = {"cumsum": "sum", "cumprod": "prod", "logcumsumexp": "logaddexp"}


@lowers(*_SCANS)
def _scan(lowering: Lowering, node: Node) -> Value:
    source = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    if not source.shape:
        return source
    axis = axes_of(node.arguments[1], len(source.shape))[0]
    return Scan(source, axis, _SCANS[node.op])


@lowers("cummax", "cummin")
def _running_extreme(lowering: Lowering, node: Node) -> list[Value]:
    """The place of the running extreme is the last place where it was reached."""
    source = lowering.value(node.arguments[0])
    if not source.shape:
        return [source, Literal(ZERO, "int64")]
    axis = axes_of(node.arguments[1], len(source.shape))[0]
    extreme = Scan(source, axis, node.op.removeprefix("cum"))
    place = Coordinate(source.shape, axis)
    reached = Map(place_if_reached(ZERO), [source, extreme, place], "int64", source.shape)
    return [extreme, Scan(reached, axis, "max")]
