"""Kernels of running folds: a row in pieces, each of which begins where the last one ended."""

from collections.abc import Sequence

from kernelmill.generators.composer.host.language import Term
from kernelmill.generators.composer.ir.expressions import Expression, Plain, Variable
from kernelmill.generators.composer.ir.index import Index, product, sub, unravel
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import Buffer, Map, Reduce, Scan, Unfit, Value, View
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.folds import FORMS, fold_window, kept_as
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    padded,
    program_id,
)
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile

_ROWS, _ALONG = Tile("x", 0, "ROWS"), Tile("r", 1, "WIDTH")
_LONG, _BESIDE, _DEEP = 4096, 64, 32
"""Elements of a piece along memory; rows side by side and elements of each elsewhere."""
_JOINS = {"sum": "add", "prod": "times", "max": "larger", "min": "smaller",
          "logaddexp": "logaddexp"}  # fmt: skip


def scan_under(value: Value, stored: dict[int, Buffer]) -> Scan | None:
    """The first running fold that a value is made from, element by element."""
    if id(value) in stored:
        return None
    if isinstance(value, Scan):
        return value
    if isinstance(value, Map | View):
        for source in value.inputs:
            found = scan_under(source, stored)
            if found is not None:
                return found
    return None


def emit_scan(
    scan: Scan, value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> Launch:
    """The kernel of a value made from a running fold. Raises Unfit for what must be stored."""
    if value.shape != scan.shape:
        raise Unfit(scan)
    ways: tuple[Plain, ...] = ("r", sub(sub(size(scan.shape[scan.axis]), 1), "r"))
    for along in ways:
        try:
            return _Scanning(scan, value, target, plan, stored).launch(along)
        except Unfit as unfit:
            if unfit.value is not scan:
                raise
    raise Unfit(scan)


class _Scanning:
    def __init__(
        self, scan: Scan, value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
    ) -> None:
        self._scan, self._value, self._target, self._plan = scan, value, target, plan
        self._outer = [axis for axis in range(len(scan.shape)) if axis != scan.axis]
        self._rows = product([scan.shape[axis] for axis in self._outer])
        self._root = new_scope(2, stored)
        self._root.frame.folding = self
        self._root.frame.scanning = self

    def launch(self, along: Plain) -> Launch:
        """`along` is where in the value the running fold stands at its place r."""
        root, scan, plan = self._root, self._scan, self._plan
        root.lines.append(f"pid = {program_id()}")
        add_tile(root, _ROWS, "pid * ROWS", self._rows, plan)
        body = root.child("start")
        add_tile(body, _ALONG, "start", scan.shape[scan.axis], plan)
        index = self._placed(along)
        body.store(self._target, index, body.value(self._value, index))
        end = root.size(scan.shape[scan.axis]).code
        root.lines.append(f"for start in range(0, {end}, WIDTH):")
        lines = [*root.lines, *(f"    {line}" for line in body.lines)]
        contiguous = scan.axis == len(scan.shape) - 1
        longest = plan.shrunk(_LONG if contiguous else _DEEP)
        width = min(longest, padded(scan.shape[scan.axis]))
        rows = max(1, plan.shrunk(1024) // width) if contiguous else plan.shrunk(_BESIDE)
        constants = {"ROWS": str(rows), "WIDTH": str(width)}
        warps = str(plan.warps) if plan.warps != "auto" else "8" if width * rows >= 2048 else "4"
        grid = (blocks(self._rows, constants["ROWS"]),)
        return Launch(lines, root.frame.memory, grid, constants, warps)

    def running(self, scope: Scope, value: Scan, index: Index) -> Expression:
        if value is not self._scan or index != self._placed("r"):
            raise Unfit(value)
        term = scope.write(scope.value(value.inputs[0], index))
        dtype = kept_as(value.op, value.dtype if term.dtype == "int" else term.dtype)
        form, start = FORMS[value.op], FORMS[value.op].states(dtype)[0].start
        masked = f"tl.where({_ALONG.mask}, tl.cast({term.code}, tl.{dtype}), {start})"
        element = scope.assign(Term(masked, dtype, names=term.names | {_ALONG.mask}))
        tiles = self._root.frame.tiles_of({element}) - {_ALONG.name}
        carry = self._root.fresh(dtype, tiles)
        shape = self._root.frame.shape(tiles)
        self._root.lines.append(f"{carry} = tl.full({shape}, {start}, tl.{dtype})")
        inside = f"tl.associative_scan({element}, 1, {_JOINS[value.op]})"
        made_of = frozenset({carry, element})
        result = scope.assign(Term(form.join([carry], [inside]), dtype, names=made_of))
        scope.lines.append(f"{carry} = {form.join([carry], [form.whole([element])])}")
        return Variable(result)

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        if not value.window:
            raise Unfit(value)
        return fold_window(scope, value, index)

    def _placed(self, along: Plain) -> Index:
        outer = unravel("x", [self._scan.shape[axis] for axis in self._outer])
        return Index(_with(outer, self._scan.axis, along))


def _with(parts: Sequence[Plain], axis: int, part: Plain) -> list[Plain]:
    return [*parts[:axis], part, *parts[axis:]]
