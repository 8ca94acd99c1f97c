"""Folds along axes, norms, softmax, scans and losses built from them."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.composer.graph import Extent, Node, Real
from kernelmill.generators.composer.index import Index, product
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
from kernelmill.generators.composer.values import (
    Coordinate,
    Literal,
    Map,
    Reduce,
    Scan,
    Value,
    View,
)

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


def pointwise(template: str, *values: Value, shape: Sequence[Extent], dtype: str = "") -> Value:
    spread = [broadcast(value, shape) for value in values]
    return Map(template, spread, dtype or values[0].dtype, shape)


def moments(lowering: Lowering, source: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """Mean and (biased) variance along axes, which are kept."""
    count = literal_count(source, axes)
    if lowering.plan.moments == "joint":
        total = folded(source, axes, "sum")
        mean = Map("{0} / {1}", [total, count], source.dtype, total.shape)
        spread = folded(source, axes, "spread")
        return mean, Map("{0} / {1}", [spread, count], source.dtype, mean.shape)
    start = _first(source, axes)
    shifted = pointwise("{0} - {1}", source, start, shape=source.shape)
    total = folded(shifted, axes, "sum")
    mean = Map("{0} + {1} / {2}", [start, total, count], source.dtype, total.shape)
    if lowering.plan.moments == "one-pass":
        squares = Map("{0} * {0}", [shifted], source.dtype, source.shape)
        square_sum = folded(squares, axes, "sum")
        template = "km::positive(({0} - {1} * {1} / {2}) / {2})"
        return mean, Map(template, [square_sum, total, count], source.dtype, mean.shape)
    difference = pointwise("{0} - {1}", source, mean, shape=source.shape)
    squares = Map("{0} * {0}", [difference], source.dtype, source.shape)
    variance = folded(squares, axes, "sum")
    return mean, Map("{0} / {1}", [variance, count], source.dtype, mean.shape)


def _first(source: Value, axes: Sequence[int]) -> Value:
    """The first element along axes, which are kept: differences from it are small, and nought in
    a row of equal elements, whose mean must come out exactly."""
    one = Extent("1", 1)
    shape = [one if axis in axes else extent for axis, extent in enumerate(source.shape)]

    def remap(index: Index) -> Index:
        return Index(["0" if axis in axes else part for axis, part in enumerate(index.parts)])

    return View(source, shape, remap)


def literal_count(source: Value, axes: Sequence[int]) -> Literal:
    count = product([source.shape[axis] for axis in axes])
    return Literal(f"{source.ctype}({count.code})", source.dtype)


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
    code = "(({0} == {1}) | ({0} != {0}) ? {2} : std::numeric_limits<int64_t>::max())"
    place = Coordinate(source.shape, axis)
    places = pointwise(code, source, extreme, place, shape=source.shape, dtype="int64")
    return Reduce(places, axes, "min", "int64")


@lowers("mean")
def _mean(lowering: Lowering, node: Node) -> Value:
    source = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    axes = axes_of(keyword(node, 1, "dim"), len(source.shape))
    total = Reduce(source, axes, "sum", source.dtype)
    mean = Map("{0} / {1}", [total, literal_count(source, axes)], source.dtype, total.shape)
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
    factor = Literal(
        f"({count.code} / ({count.code} - {literal(correction, source.dtype)}))", source.dtype
    )
    code = "km::sqrt({0} * {1})" if node.op.startswith("std") else "{0} * {1}"
    result = Map(code, [variance, factor], source.dtype, variance.shape)
    keep = keyword(node, 3, "keepdim", False)
    results = [part if keep else dropped(part, axes) for part in (result, mean)]
    return results if node.op.startswith("var_mean") else results[0]


def dropped(value: Value, axes: Sequence[int]) -> Value:
    """Remove axes of size one."""
    shape = [extent for axis, extent in enumerate(value.shape) if axis not in axes]
    rank = len(value.shape)

    def remap(index: Index) -> Index:
        parts = iter(index.parts)
        return Index(["0" if axis in axes else next(parts) for axis in range(rank)])

    return View(value, shape, remap)


_NORMS = {
    0: ("({0} != 0)", "sum", "{0}"),
    1: ("km::abs({0})", "sum", "{0}"),
    2: ("{0} * {0}", "sum", "km::sqrt({0})"),
    float("inf"): ("km::abs({0})", "max", "{0}"),
    float("-inf"): ("km::abs({0})", "min", "{0}"),
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
        f"km::pow(km::abs({{0}}), {literal(order, source.dtype)})",
        "sum",
        f"km::pow({{0}}, {literal(1 / order, source.dtype)})",
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
    shifted = pointwise("{0} - {1}", source, largest, shape=source.shape)
    powers = Map("km::exp_nonpositive({0})", [shifted], source.dtype, source.shape)
    total = folded(powers, axes, "sum")
    if not logarithm:
        inverse = Map("1 / {0}", [total], source.dtype, total.shape)
        return pointwise("{0} * {1}", powers, inverse, shape=source.shape)
    level = Map("km::log({0})", [total], source.dtype, total.shape)
    return pointwise("{0} - {1}", shifted, level, shape=source.shape)


@lowers("logsumexp")
def _logsumexp(lowering: Lowering, node: Node) -> Value:
    source = lowering.value(node.arguments[0])
    axes = axes_of(node.arguments[1], len(source.shape))
    largest = folded(source, axes, "max")
    code = "km::exp_nonpositive({0} - ({1} == -km::inf ? 0 : {1}))"
    powers = pointwise(code, source, largest, shape=source.shape)
    total = folded(powers, axes, "sum")
    code = "({1} == km::inf ? {1} : km::log({0}) + {1})"  # infinity minus itself made `total` NaN
    result = Map(code, [total, largest], source.dtype, total.shape)
    return result if keyword(node, 2, "keepdim", False) else dropped(result, axes)


def _scaled(
    source: Value, mean: Value, inverse: Value, weight: Value | None, bias: Value | None
) -> Value:
    result = pointwise("({0} - {1}) * {2}", source, mean, inverse, shape=source.shape)
    if weight is not None:
        result = pointwise("{0} * {1}", result, weight, shape=source.shape)
    if bias is not None:
        result = pointwise("{0} + {1}", result, bias, shape=source.shape)
    return result


def _inverse(variance: Value, epsilon: Any) -> Value:
    code = f"1 / km::sqrt({{0}} + {literal(epsilon, variance.dtype)})"
    return Map(code, [variance], variance.dtype, variance.shape)


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
        return [source, Literal("0", "int64")]
    axis = axes_of(node.arguments[1], len(source.shape))[0]
    extreme = Scan(source, axis, node.op.removeprefix("cum"))
    place = Coordinate(source.shape, axis)
    code = "(({0} == {1}) | ({0} != {0}) ? {2} : 0)"
    reached = Map(code, [source, extreme, place], "int64", source.shape)
    return [extreme, Scan(reached, axis, "max")]
