"""Operands of a contraction in planes of a type that tensor cores multiply.

Where float32 is asked for, three planes of bfloat16 hold a third of every float's digits each. Six
of the nine products are as exact as whole floats would be: what the others hold lies behind a
float's last digit. Where the numerics allow less, one plane is enough. Split beforehand, tiles go
from memory to the tensor cores as they are; the image of a convolution is also given its border,
and channels that are neighbours, so that a tile's place in it is a column's plus a depth's.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.expressions import (
    Expression,
    Plain,
    apply,
    both,
    expression,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import (
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
    Buffer,
    Contract,
    Guarded,
    Shape,
    Value,
    View,
)
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.folds import WindowFolding
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    padded,
    program_id,
)
from kernelmill.generators.composer.targets.triton.scope import Tile
from kernelmill.generators.composer.targets.triton.walk import Walk

_ALIGNED = 8
"""Elements to a copy of sixteen bytes."""
_FEW = 4
_TURNED, _LONG, _AREA = 64, 1024, 4096
"""Sides of a tile that turns its operand, the side of one that does not, and elements of both."""
_LINES, _ALONG = Tile("i", 0, "TILE_I"), Tile("j", 1, "TILE_J")


class Split(NamedTuple):
    """How an operand is split into planes."""

    dtype: str
    """The type of a plane."""
    function: str
    """The function that splits a float; empty where storing rounds it."""
    planes: int
    products: tuple[tuple[int, int], ...]
    """Which plane of the left meets which of the right: the smallest first."""
    precision: str = ""
    """What a product has to be told of it."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element in all planes."""
        return self.planes * (4 if self.dtype == "float32" else 2)


BF16X6 = Split("bfloat16", "parts_of", 3, ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)))
TF32 = Split("float32", "rounded_to_tf32", 1, ((0, 0),), "tf32")


def single_plane(dtype: str) -> Split:
    """Elements of a type that tensor cores multiply as it is."""
    return Split(dtype, "", 1, ((0, 0),))


class Packed(NamedTuple):
    """An operand as it is to be stored."""

    key: tuple[Hashable, ...]
    """The same where the same operand is wanted in the same form."""
    value: Value
    turned: bool
    """Whether what are neighbours in it are not neighbours in its source."""


class Side(NamedTuple):
    """Where a tile of an operand lies: where its row or column does, and how deep."""

    base: Expression
    depth: Expression


def emit_planes(
    packed: Packed, split: Split, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> Launch:
    """Split a value into its planes. Raises Unfit for what must be stored before."""
    value = packed.value
    *lead, lines, along = value.shape
    scope = new_scope(2, stored)
    scope.frame.folding = WindowFolding()
    widths = [f"tl.cdiv({scope.size(e).code}, {t.block})"
              for e, t in ((lines, _LINES), (along, _ALONG))]  # fmt: skip
    scope.lines += [
        f"pid = {program_id()}",
        f"across = pid % {widths[1]}",
        f"down = pid // {widths[1]} % {widths[0]}",
        f"outer = pid // ({widths[1]} * {widths[0]})",
    ]
    add_tile(scope, _LINES, "down * TILE_I", lines, plan)
    add_tile(scope, _ALONG, "across * TILE_J", along, plan)
    index = Index([*unravel("outer", lead), "i", "j"])
    element = scope.write(scope.value(value, index))
    names = [f"part{number}" for number in range(split.planes)]
    split_code = f"{split.function}({element.code})" if split.function else element.code
    scope.lines.append(f"{', '.join(names)} = {split_code}")
    for number, name in enumerate(names):
        scope.frame.types[name] = "float32"
        scope.frame.depends[name] = scope.frame.tiles_of(element.names)
        scope.store(target, Index([number, *index]), name)
    width = min(_TURNED if packed.turned else _LONG, padded(along))
    height = min(padded(lines), max(1, _AREA // width))
    constants = {"TILE_I": str(height), "TILE_J": str(width)}
    counts = [host(product(lead).code), blocks(lines, str(height)), blocks(along, str(width))]
    grid = " * ".join(f"({count})" for count in counts)
    return Launch(scope.lines, scope.frame.memory, (grid,), constants, "8")


class Planes:
    """Both operands of one contraction in planes."""

    def __init__(self, contract: Contract, shares_left: bool) -> None:
        self._contract = contract
        self._form = contract.form
        self._shares_left = shares_left

    @property
    def depth(self) -> Extent:
        """Of the planes, as a kernel knows it."""
        return self._form.depth

    @property
    def even(self) -> bool:
        """Whether all programs go equally deep."""
        return True

    @property
    def run(self) -> int:
        """How many neighbours in depth are neighbours in memory, where that is hard to see."""
        return 1

    def operands(self) -> tuple[Packed, Packed]:
        form, (left, right) = self._form, self._contract.inputs
        lead = Extent("1", 1) if self._shares_left else form.batch
        depth = _aligned(form.depth)
        ours = View(left, [lead, form.rows, form.depth], lambda i: form.left(i[0], i[1], i[2]))
        if self._along_depth:
            theirs = View(
                right, [form.batch, form.columns, form.depth],
                lambda i: form.right(i[0], i[2], 0, i[1]),
            )  # fmt: skip
        else:
            theirs = View(
                right, [form.batch, form.depth, form.columns],
                lambda i: form.right(i[0], i[1], 0, i[2]),
            )  # fmt: skip
        return (
            Packed((id(left), False, *ours.shape), _widened(ours, depth), form.left_along != "k"),
            Packed(
                (id(right), self._along_depth, *theirs.shape),
                _widened(theirs, _aligned(theirs.shape[-1])),
                turned=False,
            ),
        )

    def left(self, shape: Shape, batch: Plain, row: Plain, depth: Plain) -> Side:
        *_, rows, pitch = shape
        item = ZERO if self._shares_left else batch
        line = add(mul(item, size(rows)), row)
        return Side(mul(line, size(pitch)), expression(depth))

    def right(self, shape: Shape, batch: Plain, places: Sequence[Expression], depth: Plain) -> Side:
        *_, lines, pitch = shape
        column = places[-1]
        if self._along_depth:
            line = add(mul(batch, size(lines)), column)
            return Side(mul(line, size(pitch)), expression(depth))
        start = mul(mul(batch, size(lines)), size(pitch))
        return Side(add(start, column), mul(depth, size(pitch)))

    @property
    def _along_depth(self) -> bool:
        return self._form.right_along == "k"


class WindowPlanes(Planes):
    """A convolution's: weights as [group, row, taps x channels], the image with its border."""

    def __init__(self, contract: Contract, shares_left: bool, walk: Walk) -> None:
        super().__init__(contract, shares_left)
        self._walk = walk
        self._window = walk.window
        self._moves = walk.window.moves
        channels = walk.window.channels
        step = _ALIGNED if channels > _FEW else _FEW
        self._pitch = -(-channels // step) * step
        self._borders = [-(-move.pad // move.up) for move in self._moves]

    @property
    def depth(self) -> Extent:
        if self._walk.phases > 1:
            value = self._walk.count * self._pitch // self._walk.phases
            return Extent(f"{self._walk.taps} * {self._pitch}", value)
        value = self._walk.count * self._pitch
        return Extent(str(value), value)

    @property
    def even(self) -> bool:
        return self._walk.phases == 1

    @property
    def run(self) -> int:
        return min(_ALIGNED, self._pitch)

    def operands(self) -> tuple[Packed, Packed]:
        weights, image = self._weights(), self._image()
        source = id(self._window.source)
        return (
            Packed((id(self._contract.inputs[0]), *weights.shape), weights, True),
            Packed((source, self._window.groups, *self._borders, *image.shape), image, True),
        )

    def left(self, shape: Shape, batch: Plain, row: Plain, depth: Plain) -> Side:
        *_, rows, pitch = shape
        group = self._group(batch)[1]
        base = mul(add(mul(group, size(rows)), row), size(pitch))
        if self._walk.phases == 1:
            return Side(base, expression(depth))
        *taps, channel = self._taps(depth)
        tap = Index(self._walk.numbers(taps)).ravel(self._sizes)
        return Side(base, add(mul(tap, self._pitch), channel))

    def right(self, shape: Shape, batch: Plain, places: Sequence[Expression], depth: Plain) -> Side:
        image, group = self._group(batch)
        starts = [mul(place, move.stride) for place, move in zip(places, self._moves, strict=True)]
        *taps, channel = self._taps(depth)
        steps = self._walk.distances(taps, self._borders)
        within = mul(group, self._pitch)
        return Side(
            Index([image, *starts, within]).ravel(shape),
            Index([ZERO, *steps, channel]).ravel(shape),
        )

    @property
    def _sizes(self) -> list[Extent]:
        return [Extent(str(move.kernel), move.kernel) for move in self._moves]

    def _taps(self, depth: Plain) -> tuple[Expression, ...]:
        """The taps and the channel at a depth."""
        channels = Extent(str(self._pitch), self._pitch)
        return unravel(depth, [*self._walk.tap_extents(), channels])

    def _group(self, batch: Plain) -> tuple[Plain, Plain]:
        """Which image, and which of its groups of channels."""
        groups = self._window.groups
        if groups == 1:
            return batch, ZERO
        return div(batch, groups), mod(batch, groups)

    def _weights(self) -> Value:
        kernel = self._contract.inputs[0]
        groups, rows = self._window.groups, self._form.rows
        pitch = Extent(str(self._pitch), self._pitch)
        depth = product([*self._sizes, pitch])
        shape = [Extent(str(groups), groups), rows, depth]

        def remap(index: Index) -> Index:
            *taps, channel = unravel(index[2], [*self._sizes, pitch])
            return Index([add(mul(index[0], size(rows)), index[1]), channel, *taps])

        def exists(index: Index) -> Expression:
            return remap(index)[1] < self._window.channels

        if self._pitch == self._window.channels:
            return View(kernel, shape, remap)
        return Guarded(kernel, shape, remap, exists, ZERO)

    def _image(self) -> Value:
        source, window, pitch = self._window.source, self._window, self._pitch
        width = window.groups * pitch
        sizes = self._walk.reach(self._borders)
        shape = [source.shape[0], *sizes, Extent(str(width), width)]

        def channel(index: Index) -> Expression:
            if pitch == window.channels or window.groups == 1:
                return index[-1]
            group = mul(div(index[-1], pitch), window.channels)
            return add(group, mod(index[-1], pitch))

        def remap(index: Index) -> Index:
            places = [
                sub(place, border) if border >= 0 else add(place, -border)
                for place, border in zip(index.parts[1:-1], self._borders, strict=True)
            ]
            return Index([index[0], channel(index), *places])

        def exists(index: Index) -> Expression | None:
            places = remap(index).parts[2:]
            tests = []
            for place, border, along, reach in zip(
                places, self._borders, source.shape[2:], sizes, strict=True
            ):
                if border > 0:
                    tests.append(place >= 0)
                if not (along.fixed and reach.fixed and reach.value - border <= along.value):
                    tests.append(place < size(along))
            if pitch != window.channels:
                tests.append(mod(index[-1], pitch) < window.channels)
            return both(*tests)

        return Guarded(source, shape, remap, exists, ZERO)


def _aligned(extent: Extent) -> Extent:
    value = -(-extent.value // _ALIGNED) * _ALIGNED
    if extent.fixed:
        return Extent(str(value), value)
    steps = apply(Operator.SIZE_DIV, add(size(extent), _ALIGNED - 1), _ALIGNED)
    return extent_for(mul(steps, _ALIGNED), value)


def _widened(value: View, along: Extent) -> Value:
    """With a last axis of this size, and nothing in what it has more."""
    last = value.shape[-1]
    if last == along:
        return value
    shape = [*value.shape[:-1], along]
    return Guarded(value, shape, lambda i: i, lambda i: i[-1] < size(last), ZERO)
