"""Convolutions and pooling: windows that slide over memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.graph import Extent, Node
from kernelmill.generators.composer.index import Index, add, atom, mul, product, sub, unravel
from kernelmill.generators.composer.lowering.reductions import pointwise
from kernelmill.generators.composer.lowering.registry import Lowering, extent_of, keyword, lowers
from kernelmill.generators.composer.lowering.views import reshape
from kernelmill.generators.composer.values import (
    Contract,
    ContractForm,
    Guarded,
    Literal,
    Map,
    Reduce,
    SlidingAxis,
    Value,
    View,
    Window,
)

_ONE = Extent("1", 1)
_DIRECT_DEPTH = 32
"""Up to this many products an output a plain loop beats a contraction."""


class Slide(NamedTuple):
    """How a window moves along one axis."""

    kernel: int
    stride: int
    pad: int
    dilation: int


def _spread(argument: Any, rank: int) -> list[int]:
    values = argument if isinstance(argument, list) else [argument]
    values = [extent_of(value).value for value in values]
    return values * rank if len(values) == 1 else values


def slides(kernel: Sequence[int], stride: Any, pad: Any, dilation: Any) -> list[Slide]:
    rank = len(kernel)
    steps = _spread(stride, rank) if stride not in ([], None) else list(kernel)
    return [
        Slide(*parts)
        for parts in zip(kernel, steps, _spread(pad, rank), _spread(dilation, rank), strict=True)
    ]


def windowed(
    value: Value, outer: Sequence[Extent], moves: Sequence[Slide], filler: str | None
) -> Value:
    """[..., out, window] from [..., in]: every place of the window as an axis of its own.

    `outer` are the sizes of the output along the window's axes; without a filler nobody looks
    beyond the input.
    """
    rank = len(moves)
    lead = len(value.shape) - rank
    kernel = [Extent(str(move.kernel), move.kernel) for move in moves]
    shape = [*value.shape[:lead], *outer, *kernel]

    def place(index: Index, axis: int) -> str:
        move = moves[axis]
        here = mul(index[lead + axis], str(move.stride))
        here = add(here, mul(index[lead + rank + axis], str(move.dilation)))
        return sub(here, str(move.pad))

    def remap(index: Index) -> Index:
        return Index([*index.parts[:lead], *(place(index, axis) for axis in range(rank))])

    def inside(index: Index) -> str:
        tests = []
        for axis, move in enumerate(moves):
            here, size = atom(place(index, axis)), value.shape[lead + axis]
            reach = (outer[axis].value - 1) * move.stride + (move.kernel - 1) * move.dilation
            if move.pad:
                tests.append(f"{here} >= 0")
            if reach - move.pad >= size.value:
                tests.append(f"{here} < {size.code}")
        return " && ".join(tests) or "true"

    if filler is None or inside(Index(["0"] * len(shape))) == "true":
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
        reach = (outer[axis].value - 1) * move.stride + (move.kernel - 1) * move.dilation - move.pad
        if move.pad or reach >= size.value:
            found.append(
                SlidingAxis(
                    lead + axis, first_tap + axis, move.stride, move.dilation, move.pad, size
                )
            )
    return found


@lowers("convolution")
def _convolution(lowering: Lowering, node: Node) -> Value:
    source, weight, bias, stride, pad, dilation, transposed, output_pad, groups = node.arguments
    value, kernel = lowering.value(source), lowering.value(weight)
    shape = node.results[0].shape
    moves = slides([extent.value for extent in kernel.shape[2:]], stride, pad, dilation)
    if transposed:
        result = _transposed(value, kernel, shape, moves, int(groups))
    else:
        result = _forward(value, kernel, shape, moves, int(groups))
    if bias is None:
        return result
    vector = lowering.value(bias)
    channels = reshape(vector, [vector.shape[0], *[_ONE] * len(moves)])
    return pointwise("{0} + {1}", result, channels, shape=shape)


def _forward(
    value: Value, kernel: Value, shape: Sequence[Extent], moves: list[Slide], groups: int
) -> Value:
    inputs = kernel.shape[1].value
    depth = inputs
    for move in moves:
        depth *= move.kernel
    if inputs == 1 and depth <= _DIRECT_DEPTH or groups > 1 and depth <= _DIRECT_DEPTH:
        return _plain_loops(value, kernel, shape, moves, groups)
    window = windowed(value, shape[2:], moves, "0")
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
        group = index[1] if outputs == 1 else f"{atom(index[1])} / {outputs}"
        channel = add(mul(group, inputs.code), index[2 + rank])
        return Index([index[0], channel, *index.parts[2 : 2 + rank], *index.parts[3 + rank :]])

    def weights(index: Index) -> Index:
        return Index([index[1], *index.parts[2 + rank :]])

    products = Map(
        "{0} * {1}",
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
    rank = len(moves)
    outputs = shape[1].value // groups
    inputs = kernel.shape[1].value
    taps = [Extent(str(inputs), inputs), *(Extent(str(m.kernel), m.kernel) for m in moves)]
    lines = shape[2:-1]

    def split(batch: str) -> tuple[str, str]:
        if groups == 1:
            return batch, "0"
        return f"{atom(batch)} / {groups}", f"{atom(batch)} % {groups}"

    def left(batch: str, row: str, depth: str) -> Index:
        channel = add(mul(split(batch)[1], str(outputs)), row)
        return Index([channel, *unravel(depth, taps)])

    def right(batch: str, depth: str, line: str, column: str) -> Index:
        image, group = split(batch)
        channel, *places = unravel(depth, taps)
        channel = add(mul(group, str(inputs)), channel)
        return Index([image, channel, *unravel(line, lines), column, *places])

    def out(batch: str, row: str, line: str, column: str) -> Index:
        image, group = split(batch)
        return Index([image, add(mul(group, str(outputs)), row), *unravel(line, lines), column])

    batch = Extent(mul(shape[0].code, str(groups)), shape[0].value * groups)
    form = ContractForm(
        batch=batch,
        rows=Extent(str(outputs), outputs),
        depth=product(taps),
        lines=product(lines),
        columns=shape[-1],
        left=left,
        right=right,
        out=out,
        left_along="k",
        right_along="other",
        copies=str(groups),
    )
    if rank <= 2:
        form.window = Window(value, groups, moves, inputs)
    return Contract(kernel, window, shape, form)


def _transposed(
    value: Value, kernel: Value, shape: Sequence[Extent], moves: list[Slide], groups: int
) -> Value:
    """As a convolution of the input with gaps between its elements, and the kernel reversed."""
    rank = len(moves)
    inputs, outputs = kernel.shape[0].value // groups, kernel.shape[1].value
    gaps = [move.stride for move in moves]
    stretched = _stretched(value, gaps)
    back = [Slide(m.kernel, 1, m.dilation * (m.kernel - 1) - m.pad, m.dilation) for m in moves]
    if any(move.pad < 0 for move in back):
        raise Declined("a transposed convolution that pads more than its kernel reaches")
    sizes = [Extent(str(m.kernel), m.kernel) for m in moves]
    turned_shape = [
        Extent(str(outputs * groups), outputs * groups),
        Extent(str(inputs), inputs),
        *sizes,
    ]

    def turned(index: Index) -> Index:
        group, channel = (
            ("0", index[0])
            if groups == 1
            else (f"{atom(index[0])} / {outputs}", f"{atom(index[0])} % {outputs}")
        )
        reversed_taps = [
            sub(str(m.kernel - 1), tap) for m, tap in zip(moves, index.parts[2:], strict=True)
        ]
        return Index([add(mul(group, str(inputs)), index[1]), channel, *reversed_taps])

    weights = View(kernel, turned_shape, turned)
    window = windowed(stretched, shape[2:], back, "0")
    depth = inputs
    for move in moves:
        depth *= move.kernel
    if groups > 1 and depth <= _DIRECT_DEPTH:
        return _plain_loops(stretched, weights, shape, back, groups)
    result = _as_contraction(stretched, window, weights, shape, back, groups)
    return result


def _stretched(value: Value, gaps: Sequence[int]) -> Value:
    """Zeros between neighbours: element i goes to i * gap."""
    if all(gap == 1 for gap in gaps):
        return value
    lead = len(value.shape) - len(gaps)
    shape = list(value.shape[:lead])
    for extent, gap in zip(value.shape[lead:], gaps, strict=True):
        size = (extent.value - 1) * gap + 1
        code = str(size) if extent.fixed else f"({extent.code} - 1) * {gap} + 1"
        shape.append(Extent(code, size))

    def remap(index: Index) -> Index:
        parts = [
            part if gap == 1 else f"{atom(part)} / {gap}"
            for part, gap in zip(index.parts[lead:], gaps, strict=True)
        ]
        return Index([*index.parts[:lead], *parts])

    def on_grid(index: Index) -> str:
        tests = [
            f"{atom(part)} % {gap} == 0"
            for part, gap in zip(index.parts[lead:], gaps, strict=True)
            if gap != 1
        ]
        return " && ".join(tests)

    return Guarded(value, shape, remap, on_grid, "0")


@lowers("max_pool1d", "max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool2d")
def _max_pool(lowering: Lowering, node: Node) -> list[Value | None]:
    value = lowering.value(node.arguments[0])
    kernel = node.arguments[1]
    moves = slides(
        _spread(kernel, len(kernel)), keyword(node, 2, "stride", []), keyword(node, 3, "padding", 0),
        keyword(node, 4, "dilation", 1),
    )  # fmt: skip
    shape = node.results[0].shape
    rank = len(moves)
    window = windowed(value, shape[-rank:], moves, None)
    lead = len(value.shape)
    axes = range(lead, lead + rank)
    edges = sliding(value, shape[-rank:], moves)
    return [Reduce(window, axes, "max", value.dtype, window=True, slides=edges), None]


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _average_pool(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    kernel = node.arguments[1]
    moves = slides(
        _spread(kernel, len(kernel)),
        keyword(node, 2, "stride", []),
        keyword(node, 3, "padding", 0),
        1,
    )
    shape = node.results[0].shape
    rank, lead = len(moves), len(value.shape) - len(moves)
    window = windowed(value, shape[-rank:], moves, "0")
    axes = range(len(value.shape), len(value.shape) + rank)
    total = Reduce(window, axes, "sum", value.dtype, window=True)
    divisor = keyword(node, 6, "divisor_override")
    padded = any(move.pad for move in moves)
    if divisor is not None or not padded or keyword(node, 5, "count_include_pad", True):
        area = divisor or 1
        for move in moves if divisor is None else []:
            area *= move.kernel
        if keyword(node, 4, "ceil_mode", False):
            raise Declined("average pooling with ceil_mode")
        return Map(f"{{0}} * (1.0f / {area})", [total], value.dtype, shape)
    ones = Literal("1.0f", value.dtype, value.shape)
    inside = (
        Guarded(ones, window.shape, lambda i: i, window._condition, "0")
        if isinstance(window, Guarded)
        else ones
    )
    count = Reduce(inside, axes, "sum", value.dtype, window=True)
    del lead
    return Map("{0} / {1}", [total, count], value.dtype, shape)


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def _adaptive_average_pool(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    shape = node.results[0].shape
    rank = len(node.arguments[1])
    moves = []
    for size, out in zip(value.shape[-rank:], shape[-rank:], strict=True):
        if size.value % out.value or not (size.fixed and out.fixed):
            raise Declined("adaptive pooling over windows of different sizes")
        width = size.value // out.value
        moves.append(Slide(width, width, 0, 1))
    window = windowed(value, shape[-rank:], moves, "0")
    axes = range(len(value.shape), len(value.shape) + rank)
    total = Reduce(window, axes, "sum", value.dtype, window=True)
    area = 1
    for move in moves:
        area *= move.kernel
    return Map(f"{{0}} * (1.0f / {area})", [total], value.dtype, shape)
