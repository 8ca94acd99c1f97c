"""Convolutions and pooling: windows that slide over memory."""

import math
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.expressions import (
    LARGEST_PLACE,
    Argument,
    Cast,
    Constant,
    Expression,
    Plain,
    apply,
    both,
)
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import (
    EDGE,
    ZERO,
    Index,
    add,
    div,
    mod,
    mul,
    product,
    sub,
    unravel,
)
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import extent as extent_for
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Contract,
    ContractForm,
    Coordinate,
    Guarded,
    Literal,
    Map,
    Reduce,
    SlidingAxis,
    Value,
    View,
    Window,
)
from kernelmill.generators.composer.lowering.reductions import kept, place_if_reached, pointwise
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    broadcast,
    extent_of,
    keyword,
    lowers,
)
from kernelmill.generators.composer.lowering.views import reshape

_ONE = Extent("1", 1)
_LEAST = Constant(-math.inf, "float32")
_DIRECT_DEPTH = 32
"""Up to this many products an output a plain loop beats a contraction."""


class Slide(NamedTuple):
    """How a window moves along one axis."""

    kernel: int
    stride: int
    pad: int
    dilation: int
    loose: bool = False
    """Whether the last windows may hang over the end (ceil_mode, output_padding)."""
    up: int = 1
    """Outputs to a step of the input (a transposed convolution)."""

    def hangs_over(self, places: Extent, size: Extent) -> bool:
        """Whether a window may reach beyond the end, at this size or another."""
        if not (places.fixed and size.fixed):
            return self.loose or self.pad != 0
        reach = (places.value - 1) * self.stride + (self.kernel - 1) * self.dilation - self.pad
        return reach >= size.value


def _spread(argument: Any, rank: int) -> list[int]:
    values = argument if isinstance(argument, list) else [argument]
    values = [extent_of(value).value for value in values]
    return values * rank if len(values) == 1 else values


def slides(
    kernel: Sequence[int], stride: Any, pad: Any, dilation: Any, loose: bool = False
) -> list[Slide]:
    rank = len(kernel)
    steps = _spread(stride, rank) if stride not in ([], None) else list(kernel)
    return [
        Slide(*parts, loose)
        for parts in zip(kernel, steps, _spread(pad, rank), _spread(dilation, rank), strict=True)
    ]


def windowed(
    value: Value, outer: Sequence[Extent], moves: Sequence[Slide], filler: Expression | None
) -> Value:
    """[..., out, window] from [..., in]: every place of the window as an axis of its own.

    `outer` are the sizes of the output along the window's axes; without a filler nobody looks
    beyond the input.
    """
    rank = len(moves)
    lead = len(value.shape) - rank
    kernel = [Extent(str(move.kernel), move.kernel) for move in moves]
    shape = [*value.shape[:lead], *outer, *kernel]

    def place(index: Index, axis: int) -> Expression:
        move = moves[axis]
        here = mul(index[lead + axis], move.stride)
        here = add(here, mul(index[lead + rank + axis], move.dilation))
        return sub(here, move.pad)

    def remap(index: Index) -> Index:
        return Index([*index.parts[:lead], *(place(index, axis) for axis in range(rank))])

    def inside(index: Index) -> Expression | None:
        tests = []
        for axis, move in enumerate(moves):
            here, along = place(index, axis), value.shape[lead + axis]
            if move.pad > 0:
                tests.append(here >= EDGE)
            if move.hangs_over(outer[axis], along):
                tests.append(here < add(size(along), EDGE))
        return both(*tests)

    if filler is None or inside(Index([ZERO] * len(shape))) is None:
        return View(value, shape, remap)
    return Guarded(value, shape, remap, inside, filler)


def sliding(
    value: Value, outer: Sequence[Extent], moves: Sequence[Slide], first_tap: int = 0
) -> list[SlidingAxis]:
    """The axes of a window that reach beyond the input."""
    lead = len(value.shape) - len(moves)
    found = []
    for axis, move in enumerate(moves):
        size = value.shape[lead + axis]
        if move.pad > 0 or move.hangs_over(outer[axis], size):
            found.append(
                SlidingAxis(
                    lead + axis, first_tap + axis, move.stride, move.dilation, move.pad, size
                )
            )
    return found


@lowers("convolution")
def _convolution(lowering: Lowering, node: Node) -> Value:
    source, weight, bias, stride, pad, dilation, transposed, more, groups = node.arguments
    value, kernel = lowering.value(source), lowering.value(weight)
    shape = node.results[0].shape
    if not all(extent.fixed for extent in kernel.shape[1:]):
        raise Declined("a convolution whose kernel may have any size")
    moves = slides([extent.value for extent in kernel.shape[2:]], stride, pad, dilation)
    if transposed:
        moves = [move._replace(loose=any(_spread(more, 1))) for move in moves]
        result = _transposed(value, kernel, shape, moves, int(groups))
    else:
        result = _forward(value, kernel, shape, moves, int(groups))
    if bias is None:
        return result
    vector = lowering.value(bias)
    channels = reshape(vector, [vector.shape[0], *[_ONE] * len(moves)])
    return pointwise(Argument(0) + Argument(1), result, channels, shape=shape)


def _forward(
    value: Value, kernel: Value, shape: Sequence[Extent], moves: list[Slide], groups: int
) -> Value:
    inputs = kernel.shape[1].value
    depth = inputs
    for move in moves:
        depth *= move.kernel
    few = depth <= _DIRECT_DEPTH and (inputs == 1 or groups > 1)
    if few or value.dtype != "float32":
        return _plain_loops(value, kernel, shape, moves, groups)
    window = windowed(value, shape[2:], moves, ZERO)
    return _as_contraction(value, window, kernel, shape, moves, groups)


def _plain_loops(
    value: Value, kernel: Value, shape: Sequence[Extent], moves: list[Slide], groups: int
) -> Value:
    """out[n, o, y...] = sum over (i, k...): few products each, vectors along the last axis."""
    rank = len(moves)
    outputs = shape[1].value // groups
    inputs = kernel.shape[1]
    window = windowed(value, shape[2:], moves, None)
    sizes = [Extent(str(move.kernel), move.kernel) for move in moves]
    full = [*shape, inputs, *sizes]

    def image(index: Index) -> Index:
        group = index[1] if outputs == 1 else div(index[1], outputs)
        channel = add(mul(group, size(inputs)), index[2 + rank])
        return Index([index[0], channel, *index.parts[2 : 2 + rank], *index.parts[3 + rank :]])

    def weights(index: Index) -> Index:
        return Index([index[1], *index.parts[2 + rank :]])

    products = Map(
        Argument(0) * Argument(1),
        [View(window, full, image), View(kernel, full, weights)],
        value.dtype,
        full,
    )
    return Reduce(
        products, range(2 + rank, len(full)), "sum", value.dtype, window=True,
        slides=sliding(value, shape[2:], moves, first_tap=1),
    )  # fmt: skip


def _as_contraction(
    value: Value,
    window: Value,
    kernel: Value,
    shape: Sequence[Extent],
    moves: list[Slide],
    groups: int,
) -> Value:
    """Rows: output channels of a group; depth: (channel, window); columns: output places."""
    outputs = shape[1].value // groups
    inputs = kernel.shape[1].value
    taps = [Extent(str(inputs), inputs), *(Extent(str(m.kernel), m.kernel) for m in moves)]
    lines = shape[2:-1]

    def split(batch: Plain) -> tuple[Plain, Plain]:
        return (batch, ZERO) if groups == 1 else (div(batch, groups), mod(batch, groups))

    def left(batch: Plain, row: Plain, depth: Plain) -> Index:
        channel = add(mul(split(batch)[1], outputs), row)
        return Index([channel, *unravel(depth, taps)])

    def right(batch: Plain, depth: Plain, line: Plain, column: Plain) -> Index:
        image, group = split(batch)
        channel, *places = unravel(depth, taps)
        channel = add(mul(group, inputs), channel)
        return Index([image, channel, *unravel(line, lines), column, *places])

    def out(batch: Plain, row: Plain, line: Plain, column: Plain) -> Index:
        image, group = split(batch)
        return Index([image, add(mul(group, outputs), row), *unravel(line, lines), column])

    batch = extent_for(mul(size(shape[0]), groups), shape[0].value * groups)
    form = ContractForm(
        batch=batch,
        rows=Extent(str(outputs), outputs),
        depth=product(taps),
        lines=product(lines),
        columns=shape[-1],
        left=left,
        right=right,
        out=out,
        left_along="other" if isinstance(kernel, View) else "k",
        right_along="other",
        copies=str(groups),
    )
    form.window = Window(value, groups, moves, shape[2:], inputs)
    return Contract(kernel, window, shape, form)


def _transposed(
    value: Value, kernel: Value, shape: Sequence[Extent], moves: list[Slide], groups: int
) -> Value:
    """As a convolution of the input with gaps between its elements, and the kernel reversed.

    Where the image is read in place the gaps are never there: outputs of one phase meet the same
    taps, and only those.
    """
    inputs, outputs = kernel.shape[0].value // groups, kernel.shape[1].value
    gaps = [move.stride for move in moves]
    stretched = _stretched(value, gaps)
    back = [m._replace(stride=1, pad=m.dilation * (m.kernel - 1) - m.pad) for m in moves]
    sizes = [Extent(str(m.kernel), m.kernel) for m in moves]
    turned_shape = [
        Extent(str(outputs * groups), outputs * groups),
        Extent(str(inputs), inputs),
        *sizes,
    ]

    def turned(index: Index) -> Index:
        group, channel = (
            (ZERO, index[0]) if groups == 1 else (div(index[0], outputs), mod(index[0], outputs))
        )
        reversed_taps = [
            sub(m.kernel - 1, tap) for m, tap in zip(moves, index.parts[2:], strict=True)
        ]
        return Index([add(mul(group, inputs), index[1]), channel, *reversed_taps])

    weights = View(kernel, turned_shape, turned)
    window = windowed(stretched, shape[2:], back, ZERO)
    depth = inputs
    for move in moves:
        depth *= move.kernel
    if (groups > 1 and depth <= _DIRECT_DEPTH) or value.dtype != "float32":
        return _plain_loops(stretched, weights, shape, back, groups)
    over = [m._replace(up=gap) for m, gap in zip(back, gaps, strict=True)]
    return _as_contraction(value, window, weights, shape, over, groups)


def _stretched(value: Value, gaps: Sequence[int]) -> Value:
    """Zeros between neighbours: element i goes to i * gap."""
    if all(gap == 1 for gap in gaps):
        return value
    lead = len(value.shape) - len(gaps)
    shape = list(value.shape[:lead])
    for extent, gap in zip(value.shape[lead:], gaps, strict=True):
        wide = add(mul(sub(size(extent), 1), gap), 1)
        shape.append(extent_for(wide, (extent.value - 1) * gap + 1))

    def remap(index: Index) -> Index:
        parts = [
            part if gap == 1 else div(part, gap)
            for part, gap in zip(index.parts[lead:], gaps, strict=True)
        ]
        return Index([*index.parts[:lead], *parts])

    def on_grid(index: Index) -> Expression | None:
        tests = [
            apply(Operator.EQ, mod(part, gap), 0)
            for part, gap in zip(index.parts[lead:], gaps, strict=True)
            if gap != 1
        ]
        return both(*tests)

    return Guarded(value, shape, remap, on_grid, ZERO)


def _pool_moves(node: Node, dilation: Any, ceil: Any) -> list[Slide]:
    kernel = node.arguments[1]
    stride, pad = keyword(node, 2, "stride", []), keyword(node, 3, "padding", 0)
    return slides(_spread(kernel, len(kernel)), stride, pad, dilation, bool(ceil))


def _window_axes(value: Value, rank: int) -> range:
    """The axes of the window behind those of a tensor it slides over."""
    return range(len(value.shape), len(value.shape) + rank)


@lowers("max_pool1d", "max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool2d")
def _max_pool(lowering: Lowering, node: Node) -> list[Value]:
    value = lowering.value(node.arguments[0])
    moves = _pool_moves(node, keyword(node, 4, "dilation", 1), keyword(node, 5, "ceil_mode", False))
    rank = len(moves)
    outer = node.results[0].shape[-rank:]
    axes = _window_axes(value, rank)
    edges = sliding(value, outer, moves)
    window = windowed(value, outer, moves, None)
    largest = Reduce(window, axes, "max", value.dtype, window=True, slides=edges)
    if len(node.results) == 1:
        return [largest]
    beyond = windowed(value, outer, moves, _LEAST)
    return [largest, _first_place(value, largest, beyond, moves)]


def _first_place(value: Value, largest: Value, window: Value, moves: Sequence[Slide]) -> Value:
    """Where in the image the largest element of every window is; the first where several are."""
    rank, lead = len(moves), len(value.shape) - len(moves)
    axes = _window_axes(value, rank)
    position: Value = Literal(ZERO, "int64", window.shape)
    for axis, move in enumerate(moves):
        here = Coordinate(window.shape, lead + axis)
        tap = Coordinate(window.shape, axes[axis])
        along = size(value.shape[lead + axis])
        line, column, inside = Argument(0), Argument(1), Argument(2)
        function = line * along + column * move.stride + inside * move.dilation - move.pad
        position = Map(function, [position, here, tap], "int64", window.shape)
    spread = broadcast(kept(largest, window.shape, axes), window.shape)
    places = Map(place_if_reached(LARGEST_PLACE), [window, spread, position], "int64", window.shape)
    return Reduce(places, axes, "min", "int64", window=True)


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _average_pool(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    ceil = bool(keyword(node, 4, "ceil_mode", False))
    moves = _pool_moves(node, 1, ceil)
    shape, rank = node.results[0].shape, len(moves)
    window = windowed(value, shape[-rank:], moves, ZERO)
    total = Reduce(window, _window_axes(value, rank), "sum", value.dtype, window=True)
    divisor = keyword(node, 6, "divisor_override")
    with_pad = bool(keyword(node, 5, "count_include_pad", True))
    if divisor is None and (ceil or (not with_pad and any(move.pad for move in moves))):
        return _divided_by_reach(total, value, moves, with_pad)
    area = divisor or prod(move.kernel for move in moves)
    return Map(Argument(0) * (Constant(1.0, "float32") / area), [total], value.dtype, shape)


def _divided_by_reach(total: Value, value: Value, moves: Sequence[Slide], with_pad: bool) -> Value:
    """By how much of each window lies inside the input, or inside its padding."""
    lead = len(value.shape) - len(moves)
    for axis, move in enumerate(moves):
        start = Argument(1) * move.stride - move.pad
        first = start if with_pad else apply(Operator.SIZE_MAX, start, 0)
        along = add(size(value.shape[lead + axis]), move.pad if with_pad else 0)
        end = apply(Operator.SIZE_MIN, start + move.kernel, along)
        function = Argument(0) / Cast(total.dtype, end - first)
        place = Coordinate(total.shape, lead + axis)
        total = Map(function, [total, place], total.dtype, total.shape)
    return total


class _Share(NamedTuple):
    """One axis of adaptive pooling: window i is [i * size / places, (i + 1) * size / places)."""

    size: Extent
    places: Extent

    @property
    def width(self) -> Extent:
        """Of the widest window."""
        along, places = self.size, self.places
        value = along.value // places.value + 2
        if along.fixed and places.fixed:
            exact = along.value % places.value == 0
            value = along.value // places.value if exact else value
            return Extent(str(value), value)
        return extent_for(add(div(size(along), size(places)), 2), value)

    def start(self, place: Expression) -> Expression:
        return div(mul(place, size(self.size)), size(self.places))

    def end(self, place: Expression) -> Expression:
        beyond = mul(add(place, 1), size(self.size))
        return div(sub(add(beyond, size(self.places)), 1), size(self.places))


def _adaptive_window(value: Value, shares: Sequence[_Share], filler: Expression) -> Value:
    rank, lead = len(shares), len(value.shape) - len(shares)
    shape = [*value.shape[:lead], *(s.places for s in shares), *(s.width for s in shares)]

    def remap(index: Index) -> Index:
        parts = [
            add(share.start(index[lead + axis]), index[lead + rank + axis])
            for axis, share in enumerate(shares)
        ]
        return Index([*index.parts[:lead], *parts])

    def inside(index: Index) -> Expression | None:
        places = remap(index).parts[lead:]
        return both(
            *(
                place < share.end(index[lead + axis])
                for axis, (place, share) in enumerate(zip(places, shares, strict=True))
            )
        )

    return Guarded(value, shape, remap, inside, filler)


def _shares(node: Node, value: Value) -> list[_Share]:
    rank = len(node.arguments[1])
    outer = node.results[0].shape[-rank:]
    return [_Share(*pair) for pair in zip(value.shape[-rank:], outer, strict=True)]


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def _adaptive_average_pool(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    shares = _shares(node, value)
    rank, lead = len(shares), len(value.shape) - len(shares)
    window = _adaptive_window(value, shares, ZERO)
    axes = _window_axes(value, rank)
    total: Value = Reduce(window, axes, "sum", value.dtype, window=True)
    for axis, share in enumerate(shares):
        at = Argument(1)
        function = Argument(0) / Cast(value.dtype, share.end(at) - share.start(at))
        place = Coordinate(total.shape, lead + axis)
        total = Map(function, [total, place], value.dtype, total.shape)
    return total


@lowers("adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool1d")
def _adaptive_max_pool(lowering: Lowering, node: Node) -> list[Value | None]:
    value = lowering.value(node.arguments[0])
    shares = _shares(node, value)
    window = _adaptive_window(value, shares, _LEAST)
    axes = _window_axes(value, len(shares))
    return [Reduce(window, axes, "max", value.dtype, window=True), None]
