"""Contractions in register tiles: rows of scalars by one vector of columns."""

import re
from typing import NamedTuple

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.contraction import Emission, separable
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Index
from kernelmill.generators.composer.values import Buffer, Contract, ContractForm, Value, View

_FLOATS = 8
"""In one register of 256 bits: what sizes are compared with. Any other length is as right."""
_TILES = {1: 15, 2: 15, 4: 7, 8: 3}
"""Rows that leave a vector of columns its own registers, by the registers to a vector."""
_WORTH_TURNING = 1.5
_DEPTH_BLOCK = 512
"""Products that are summed in float before the sum joins the others."""
_WHOLE_DEPTH = 1 << 40


class _Tile(NamedTuple):
    rows: int
    registers: int


def emit_contraction(
    contract: Contract, result: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    """The C++ of one contraction whose finished sums become elements of `result`."""
    lines = _Tiled(contract, plan, stored).lines(result, target)
    return ["{", *(f"  {line}" for line in lines), "}"]


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
    fitting = [n for n in _TILES if n * _FLOATS >= columns.value]
    registers = fitting[0] if fitting else max(_TILES)
    if plan.accumulate == "double":
        registers = min(registers, 4)
        return _Tile(_TILES[2 * registers], registers)
    return _Tile(_TILES[registers], registers)


class _Tiled(Emission):
    def lines(self, result: Value, target: Buffer) -> list[str]:
        window = self._form.window
        if window is not None and self._plan.operand != "packed":
            lines, right = self._image(window)
        else:
            if window is None and self._is_better_turned():
                self._turn()
            lines, right = self._operands()
        form = self._form
        lines += self._store(result, target)
        call = f"km::contract<{self._tile}>"
        return [*lines, f"{call}(shape, km::rows(left, {form.copies}), {right}, store);"]

    @property
    def _tile(self) -> str:
        form = self._form
        lines = 1 if form.window is None else form.lines.value
        columns = Extent(form.columns.code, form.columns.value * lines)
        return tile_code(form.rows, columns, self._plan)

    def _is_better_turned(self) -> bool:
        form = self._form
        if form.lines.code != "1" or self._plan.side == "columns":
            return False
        if self._plan.side == "rows":
            return True
        as_it_is = _vectors(form.columns.value) * form.rows.value
        turned = _vectors(form.rows.value) * form.columns.value
        return as_it_is > _WORTH_TURNING * turned

    def _turn(self) -> None:
        """Both operands and the result transposed: what were rows are columns now."""
        form = self._form
        copy = {"1": "0", form.batch.code: "b"}.get(form.copies, f"b % ({form.copies})")
        self._inputs = self._inputs[::-1]
        self._form = ContractForm(
            form.batch,
            form.columns,
            form.depth,
            form.lines,
            form.rows,
            left=lambda b, m, k: form.right(b, k, "0", m),
            right=lambda b, k, r, c: form.left(copy, c, k),
            out=lambda b, m, r, c: form.out(b, c, r, m),
            left_along=form.right_along,
            right_along=form.left_along,
            copies=form.batch.code,
        )

    def _operands(self) -> tuple[list[str], str]:
        form = self._form
        lines = self._operand("left", 0, form.left("b", "m", "k"), "long b, long m, long k")
        lines.append(
            f"const km::Shape shape{{{form.batch.code}, {form.rows.code}, {form.depth.code}, "
            f"{form.lines.code}, {form.columns.code}, {form.columns.code}}};"
        )
        in_place = self._in_place()
        if in_place:
            return lines, in_place
        place = "long b, long k, long r, long c"
        lines += self._operand("right", 1, form.right("b", "k", "r", "c"), place)
        registers = _tile(form.columns, self._plan).registers
        return lines, f"km::copied<{registers}>(right, shape)"

    def _in_place(self) -> str:
        """A right operand that lies in memory, evenly spaced; empty where it does not."""
        if self._form.lines.code != "1" or self._plan.operand == "packed":
            return ""
        index = self._form.right("b", "k", "0", "c")
        value = self._stored.get(id(self._inputs[1]), self._inputs[1])
        while isinstance(value, View):
            index = value.remap(index)
            value = self._stored.get(id(value.inputs[0]), value.inputs[0])
        if not isinstance(value, Buffer) or value.dtype != "float32" or not _is_even(index):
            return ""
        neighbours = "true" if separable(index, "k") else "false"
        address = f"{value.name} + {index.ravel(value.shape)}"
        place = "long b, long k, long c"
        return f"km::in_place<{neighbours}>([=]({place}) {{ return {address}; }})"

    def _images(self, element: str) -> list[str]:
        place = "long channel, long z, long y, long x"
        return [
            "const km::Memory<float> padded(window.image());",
            "const auto image = [&](long b) {",
            f"  const auto element = [=]({place}) -> float {{ {element} }};",
            "  km::pad_copy(window, element, padded);",
            "  return static_cast<const float*>(padded);",
            "};",
        ]


def _vectors(count: int) -> int:
    return -(-count // (_FLOATS * max(_TILES)))


def _is_even(index: Index) -> bool:
    """Whether an address is a sum of one for b and steps of k and c."""
    moving = [part for part in index.parts if re.search(r"\b[kc]\b", part)]
    return not any(re.search(r"[/%(]", part) for part in moving)
