"""Contractions in register tiles: rows of scalars by one vector of columns."""

from typing import NamedTuple

from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Expression,
    Plain,
    Variable,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import ZERO, Index, mod
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import read_size
from kernelmill.generators.composer.ir.values import Buffer, Contract, ContractForm, Value, View
from kernelmill.generators.composer.loops.contraction import Emission, ends_with
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.statements import Block, Statement, Statements
from kernelmill.generators.composer.plan import Plan

_FLOATS = 8
"""In one register of 256 bits: what sizes are compared with. Any other length is as right."""
_ROWS = {1: 14, 2: 12, 4: 6, 8: 2}
"""By the registers to a vector: rows that leave one of them free, or sums would be moved about."""
_USUAL_REGISTERS = 4
_WIDE_REGISTERS = 2
_ALONG_ROWS = 6
_ALONG_COLUMNS = 4
"""With this few rows, columns are not worth turning: vectors run along the depth."""
_WORTH_COPYING = 160
"""Columns of the other side from which on rows are copied rather than read where they lie."""
_DEPTH_BLOCK = 512
"""Products that are summed in float before the sum joins the others."""
_WHOLE_DEPTH = 1 << 40


class _Address(NamedTuple):
    """Where an element lies."""

    memory: str
    place: Expression

    @property
    def text(self) -> str:
        return f"{self.memory} + {cpp(self.place)}"


class _Tile(NamedTuple):
    rows: int
    registers: int


def emit_contraction(
    contract: Contract, result: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    """The C++ of one contraction whose finished sums become elements of `result`."""
    lines = _Tiled(contract, plan, stored).lines(result, target)
    return [Block("{", lines)]


def tile_code(rows: Extent, columns: Extent, plan: Plan) -> str:
    """The tile of a product as the run time's type."""
    tile = _tile(columns, plan)
    height = min(tile.rows, rows.value) if rows.fixed else tile.rows
    depth = {"blocked": _DEPTH_BLOCK, "float": _WHOLE_DEPTH, "double": 0}[plan.accumulate]
    return f"km::Tile<{height}, {tile.registers}, {plan.depth_steps}, {depth}>"


def _tile(columns: Extent, plan: Plan) -> _Tile:
    if plan.tile != "auto":
        rows, registers = (int(part) for part in plan.tile.split("x"))
        return _Tile(rows, registers)
    wide = plan.accumulate == "double"
    most = _WIDE_REGISTERS if wide else _USUAL_REGISTERS
    registers = next((n for n in _ROWS if n * _FLOATS >= columns.value or n == most), most)
    return _Tile(_ROWS[2 * registers if wide else registers], registers)


class _Tiled(Emission):
    def lines(self, result: Value, target: Buffer) -> list[Statement]:
        window = self._form.window
        if window is not None and self._plan.operand != "packed":
            lines, right = self._image(window)
            left = f"km::copied_rows(left, {self._form.copies})"
        else:
            if window is None and self._is_better_turned():
                self._turn()
            if self._runs_along():
                return [*self._shape(), *self._store(result, target), self._along()]
            lines, left, right = self._operands()
        lines += self._store(result, target)
        return [*lines, f"km::contract<{self._tile}>(shape, {left}, {right}, store);"]

    @property
    def _tile(self) -> str:
        form = self._form
        lines = 1 if form.window is None else form.lines.value
        columns = Extent(form.columns.code, form.columns.value * lines)
        return tile_code(form.rows, columns, self._plan)

    def _is_better_turned(self) -> bool:
        form, side = self._form, self._plan.side
        if form.lines.code != "1" or side == "columns":
            return False
        rows, columns = form.rows.value, form.columns.value
        as_it_is = self._cost(rows, columns, form.right_along)
        turned = self._cost(columns, rows, form.left_along) + rows * columns
        return side == "rows" or turned < as_it_is

    def _cost(self, rows: int, columns: int, along: str) -> float:
        """Cycles, about: what is multiplied, and columns that are copied one by one."""
        depth, registers = self._form.depth.value, _USUAL_REGISTERS
        vectors = -(-columns // (_FLOATS * registers))
        tiles = -(-rows // _ROWS[registers])
        multiplied = vectors * depth * (rows * (registers + 1) + tiles * (registers + 2))
        return multiplied + (depth * columns if along == "k" else 0)

    def _turn(self) -> None:
        """Both operands and the result transposed: what were rows are columns now."""
        form = self._form
        self._inputs = self._inputs[::-1]
        self._form = ContractForm(
            form.batch,
            form.columns,
            form.depth,
            form.lines,
            form.rows,
            left=lambda b, m, k: form.right(b, k, 0, _only(form.columns, m)),
            right=lambda b, k, r, c: form.left(_copy(form), _only(form.rows, c), k),
            out=lambda b, m, r, c: form.out(b, c, r, m),
            left_along=form.right_along,
            right_along=form.left_along,
            copies=form.batch.code,
        )

    def _shape(self) -> list[Statement]:
        form = self._form
        sizes = form.batch, form.rows, form.depth, form.lines, form.columns, form.columns
        return [f"const km::Shape shape{{{', '.join(extent.code for extent in sizes)}}};"]

    def _operands(self) -> tuple[list[Statement], str, str]:
        """What stands before the call, the rows and the columns."""
        form, lines = self._form, self._shape()
        left, right = self._rows_in_place(), self._columns_in_place()
        if not left:
            place = "long b, long m, long k"
            lines += self._operand("left", 0, form.left("b", "m", "k"), place)
            left = f"km::copied_rows(left, {form.copies})"
        if not right:
            place = "long b, long k, long r, long c"
            lines += self._operand("right", 1, form.right("b", "k", "r", "c"), place)
            registers = _tile(form.columns, self._plan).registers
            right = f"km::copied<{registers}>(right, shape)"
        return lines, left, right

    def _rows_in_place(self) -> str:
        """A left operand whose rows lie in memory; empty where it is to be copied."""
        form, plan = self._form, self._plan
        few = form.columns.value * form.lines.value < _WORTH_COPYING
        if plan.operand == "packed" or not (few or plan.operand == "direct"):
            return ""
        row = self._row(0, form.left("b", "m", "k"))
        if not row:
            return ""
        return f"km::rows_in_place([=](long b, long m) {{ return {row}; }}, {form.copies})"

    def _columns_in_place(self) -> str:
        """A right operand that lies in memory, evenly spaced; empty where it is to be copied."""
        form, plan = self._form, self._plan
        address = self._address(1, form.right("b", "k", 0, "c"))
        if form.lines.code != "1" or plan.operand == "packed" or address is None:
            return ""
        neighbours = ends_with(address.place, "c")
        once = form.rows.value <= _tile(form.columns, plan).rows
        if not (neighbours or once or plan.operand == "direct"):
            return ""
        kind = "true" if neighbours else "false"
        return f"km::in_place<{kind}>([=](long b, long k, long c) {{ return {address.text}; }})"

    def _runs_along(self) -> bool:
        form, plan = self._form, self._plan
        few = form.rows.value <= _ALONG_ROWS and form.lines.code == "1"
        if not few or plan.side != "auto" or plan.operand != "auto" or plan.accumulate == "double":
            return False
        left, right = self._row(0, form.left("b", "m", "k")), self._column()
        return bool(left and right)

    def _along(self) -> str:
        form = self._form
        left = self._row(0, form.left(_copy(form), "m", "k"))
        rows = f"[=](long b, long m) {{ return {left}; }}"
        columns = f"[=](long b, long c) {{ return {self._column()}; }}"
        function = f"km::contract_along<{_ALONG_COLUMNS}, {_USUAL_REGISTERS}>"
        return f"{function}(shape, {rows}, {columns}, store);"

    def _column(self) -> str:
        return self._row(1, self._form.right("b", "k", 0, "c"))

    def _row(self, number: int, index: Index) -> str:
        """Where a line of an operand begins, if its elements along k are neighbours."""
        address = self._address(number, index)
        if address is None or not ends_with(address.place, "k"):
            return ""
        return address._replace(place=address.place.replaced(Variable("k"), ZERO)).text

    def _address(self, number: int, index: Index) -> "_Address | None":
        """Where an element of an operand lies, if k and the other index move it by even steps."""
        value = self._stored.get(id(self._inputs[number]), self._inputs[number])
        while isinstance(value, View):
            index = value.remap(index)
            value = self._stored.get(id(value.inputs[0]), value.inputs[0])
        if not isinstance(value, Buffer) or value.dtype != "float32" or not _is_even(index):
            return None
        return _Address(value.name, index.ravel(value.shape))

    def _images(self, element: Statements) -> list[Statement]:
        head = "const auto element = [=](long channel, long z, long y, long x) -> float {"
        own: list[Statement] = [
            Block(head, element, "};", in_line=True),
            "km::pad_copy(window, element, padded);",
            "return static_cast<const float*>(padded);",
        ]
        return [
            "const km::Memory<float> padded(window.image());",
            Block("const auto image = [&](long b) {", own, "};"),
        ]


def _is_even(index: Index) -> bool:
    """Whether an address is a sum of one for b and steps of m, k and c."""
    return all(_moves_evenly(part.bare) for part in index.parts)


def _moves_evenly(part: Expression) -> bool:
    if not part.names & {"m", "k", "c"} or isinstance(part, Variable):
        return True
    if not isinstance(part, Apply):
        return False
    if part.operator is Operator.MUL:
        moving = [one for one in part.operands if one.names & {"m", "k", "c"}]
        return len(moving) == 1 and _moves_evenly(moving[0])
    sums = part.operator in (Operator.ADD, Operator.SUB)
    return sums and all(_moves_evenly(one) for one in part.operands)


def _copy(form: ContractForm) -> Plain:
    """Which of the left operands item b uses."""
    if form.copies == "1":
        return 0
    return "b" if form.copies == form.batch.code else mod("b", read_size(form.copies))


def _only(extent: Extent, place: Plain) -> Plain:
    return 0 if extent.code == "1" else place
