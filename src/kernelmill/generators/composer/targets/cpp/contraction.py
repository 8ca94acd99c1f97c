"""Contractions in blocks for caches, shared among threads."""

from typing import NamedTuple

from kernelmill.generators.composer.ir.index import Index
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    Value,
    View,
)
from kernelmill.generators.composer.loops.contraction import Emission, is_separable
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.statements import (
    Block,
    Statement,
    Statements,
)
from kernelmill.generators.composer.plan import Plan

_FEW_ROWS = 8
_DOT_COLUMNS = {1: 4, 2: 4, 3: 4, 4: 4, 5: 3, 6: 3, 7: 3, 8: 3}
_STREAMED_VECTORS = {1: 8, 2: 6, 3: 5, 4: 4, 5: 4, 6: 3, 7: 3, 8: 3}
"""How many columns (of dot products), or vectors of columns, go with few rows."""
_WINDOW_TILES = ((8, 3), (6, 4))
"""Rows and vectors; the first of those that leave the fewest rows of the last tile empty."""
_NARROW = 64
_SHALLOW = 64
_TALL = 4
"""With this many times more rows than columns, it is cheaper for every thread to copy all columns
than to go through all rows."""


class _Blocking(NamedTuple):
    """Register tile and cache blocks: rows, vectors; depth, rows, columns of a block."""

    rows: int
    vectors: int
    depth: int
    block_rows: int
    block_columns: int


def emit_contraction(
    contract: Contract, result: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    """The C++ of one contraction whose finished sums become elements of `result`."""
    lines = _Blocked(contract, plan, stored).lines(result, target)
    return [Block("{", lines)]


class _Blocked(Emission):
    """In blocks for caches, shared among threads."""

    def __init__(self, contract: Contract, plan: Plan, stored: dict[int, Buffer]) -> None:
        super().__init__(contract, plan, stored)
        self._symmetric = False
        """Whether half of the result is a copy of the other half."""

    def lines(self, result: Value, target: Buffer) -> list[Statement]:
        form, window = self._form, self._form.window
        if window is not None and self._plan.operand != "packed":
            lines, right = self._image(window)
        else:
            lines = self._operand("left", 0, form.left("b", "m", "k"), "long b, long m, long k")
            lines.append(
                f"const km::Shape shape{{{form.batch.code}, {form.rows.code}, {form.depth.code}, "
                f"{form.lines.code}, {form.columns.code}, {form.columns.code}}};"
            )
            in_place = self._in_place()
            if in_place:
                lines += in_place
                right = "km::direct(base, offsets)"
            else:
                index = form.right("b", "k", "r", "c")
                lines += self._operand("right", 1, index, "long b, long k, long r, long c")
                right = f"km::packed<km::Along::{form.right_along}>(right)"
        lines += self._store(result, target)
        self._symmetric = result is self._contract and self._is_symmetric()
        packed = f"km::packed<km::Along::{form.left_along}>(left, {form.copies})"
        call = f"{self._function(right)}(shape, {packed}, {right}, store);"
        lines += self._with_left_in_place(call, right)
        if self._symmetric:
            lines.append(f"km::mirror({target.name}, {form.rows.code});")
        return lines

    def _with_left_in_place(self, call: str, right: str) -> list[Statement]:
        """With all sizes known, a plain left operand need not be packed: strides are constants."""
        form = self._form
        plain = isinstance(self._beneath(self._inputs[0]), Buffer)
        if not plain or form.left_along != "k" or form.window or "contract_dot" in call:
            return [call]
        rows = self._blocking("direct" in right).rows
        function = self._function(right, last=f"({form.rows.code}) % {rows}")
        other = f"{function}(shape, km::in_place(left), {right}, store);"
        extents = (form.batch, form.rows, form.depth, form.columns)
        symbols = sorted(frozenset().union(*(size(extent).names for extent in extents)))
        if not symbols:
            return [other]
        known = " && ".join(f"fixed_{symbol} >= 0" for symbol in symbols)
        return [f"if constexpr ({known}) {{", f"  {other}", "} else {", f"  {call}", "}"]

    def _is_symmetric(self) -> bool:
        """Whether this is the product of a matrix and its own transpose."""
        form, plan = self._form, self._plan
        large = form.batch.code == "1" and form.lines.code == "1" and form.rows.value > _NARROW
        if not large or form.window is not None or plan.split != "auto":
            return False
        indices = form.left("b", "m", "k"), form.right("b", "k", 0, "m")
        left, right = map(self._origin, self._inputs, indices)
        return left == right

    def _origin(self, value: Value, index: Index) -> tuple[int, Index]:
        """The value that a view shows at an index, and where."""
        while id(value) not in self._stored and isinstance(value, View):
            index = value.remap(index)
            value = value.inputs[0]
        return id(value), index

    def _in_place(self) -> list[Statement]:
        """A right operand that lies in memory as it is needed; empty where it does not pay."""
        form, plan = self._form, self._plan
        wanted = plan.operand == "direct" or (
            plan.operand == "auto"
            and (form.batch.value > 1 or form.rows.value <= _FEW_ROWS or self._is_shallow())
        )
        if not wanted or form.right_along != "other" or form.lines.code != "1":
            return []
        value = self._inputs[1]
        first, depth = form.right("b", 0, 0, 0), form.right(0, "k", 0, 0)
        every = form.right("b", "k", 0, "c")
        value = self._stored.get(id(value), value)
        while isinstance(value, View):
            first, depth, every = value.remap(first), value.remap(depth), value.remap(every)
            value = self._stored.get(id(value.inputs[0]), value.inputs[0])
        if (
            not isinstance(value, Buffer)
            or value.dtype != "float32"
            or not is_separable(every, "k")
        ):
            return []
        count, step = form.depth.code, cpp(depth.ravel(value.shape))
        start = f"{value.name} + {cpp(first.ravel(value.shape))}"
        return [
            f"const km::Memory<long> offsets({count});",
            f"for (long k = 0; k < {count}; ++k) offsets[k] = {step};",
            f"const auto base = [=](long b) {{ return {start}; }};",
        ]

    def _images(self, element: Statements) -> list[Statement]:
        place = "long channel, long z, long y, long x"
        if self._split() == "batch":
            head = f"const auto element = [=]({place}) -> float {{"
            own: list[Statement] = [
                "float* own = images + omp_get_thread_num() * window.image();",
                Block(head, element, "};", in_line=True),
                "km::pad_copy(window, element, own);",
                "return own;",
            ]
            return [
                "const km::Memory<float> images(omp_get_max_threads() * window.image());",
                Block("const auto image = [&](long b) {", own, "};"),
            ]
        batch = self._form.batch.code
        return [
            f"const km::Memory<float> images({batch} * window.image());",
            Block(f"const auto element = [=](long b, {place}) -> float {{", element, "};"),
            f"km::pad_copy_all(window, {batch}, element, images);",
            "const auto image = [&](long b) { return images + b * window.image(); };",
        ]

    def _function(self, right: str, last: str = "") -> str:
        form = self._form
        rows = form.rows.value
        few = form.rows.fixed and rows <= _FEW_ROWS
        if few and form.left_along == form.right_along == "k" and "packed" in right:
            return f"km::contract_dot<{rows}, {_DOT_COLUMNS[rows]}>"
        blocking = ", ".join(str(number) for number in self._blocking("direct" in right))
        blocking += f", {last}" if last else ""
        split = {"rows": "m"}.get(self._split(), self._split())
        return f"km::contract<km::Tile<{blocking}>, km::Split::{split}>"

    def _blocking(self, direct: bool) -> _Blocking:
        form, plan = self._form, self._plan
        if form.rows.value <= _FEW_ROWS and direct and form.window is None:
            rows = form.rows.value
            usual = _Blocking(rows, _STREAMED_VECTORS[rows], 16, rows, 2048)
        elif direct and self._is_shallow():
            usual = _Blocking(6, 4, _SHALLOW, 6, 2048)
        elif form.window is not None and direct:
            rows, vectors = min(_WINDOW_TILES, key=lambda tile: -form.rows.value % tile[0])
            usual = _Blocking(rows, vectors, 288, 256, 256)
        else:
            usual = _Blocking(6, 4, 512, 512, 256 if form.batch.value > 1 else 128)
        if plan.tile != "auto":
            rows, vectors = (int(part) for part in plan.tile.split("x"))
            usual = usual._replace(rows=rows, vectors=vectors)
        if plan.depth_block != "auto":
            usual = usual._replace(depth=int(plan.depth_block))
        return usual

    def _is_shallow(self) -> bool:
        """Whether writing the result takes most of the time. That is best done in order: one row of
        tiles after the other, with the right operand read in place."""
        form = self._form
        one = form.batch.value == 1 and form.window is None
        large = min(form.rows.value, form.columns.value) > _NARROW
        return one and large and form.depth.value <= _SHALLOW

    def _split(self) -> str:
        form = self._form
        if self._plan.split != "auto":
            return str(self._plan.split)
        if self._symmetric:
            return "upper"
        if form.batch.value >= 2:
            return "batch"
        if self._is_shallow() and form.right_along == "other":
            return "rows"
        wide = form.columns.value * form.lines.value
        tall = form.window is None and form.rows.value > _TALL * wide
        return "rows" if wide <= _NARROW or tall else "columns"
