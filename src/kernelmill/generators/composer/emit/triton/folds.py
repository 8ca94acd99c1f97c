"""Folds over tiles: how partial results begin, grow, and become one."""

from itertools import product as combinations
from typing import NamedTuple

from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.emit.triton.scope import Scope
from kernelmill.generators.composer.index import Index, add, atom, mul, product, sub
from kernelmill.generators.composer.values import CTYPES, Reduce

_MOST_UNROLLED = 64
"""Places of a window that are written one after the other; more become a loop."""


class Part(NamedTuple):
    """One number of a partial result."""

    start: str
    dtype: str


class Fold(NamedTuple):
    """How two partial results become one."""

    start: str
    join: str
    """Python with {0} and {1}."""
    whole: str
    """Along an axis: Python with {0} for a tile and {1} for the axis."""


FOLDS = {
    "sum": Fold("0", "{0} + {1}", "tl.sum({0}, axis={1}, keep_dims=True)"),
    "prod": Fold("1", "{0} * {1}", "tl.reduce({0}, {1}, times, keep_dims=True)"),
    "max": Fold("-inf", "tl.maximum({0}, {1})", "tl.max({0}, axis={1}, keep_dims=True)"),
    "min": Fold("inf", "tl.minimum({0}, {1})", "tl.min({0}, axis={1}, keep_dims=True)"),
    "any": Fold("0", "tl.maximum({0}, {1})", "tl.max({0}, axis={1}, keep_dims=True)"),
    "all": Fold("1", "tl.minimum({0}, {1})", "tl.min({0}, axis={1}, keep_dims=True)"),
    "logaddexp": Fold(
        "-inf", "logaddexp({0}, {1})", "tl.reduce({0}, {1}, logaddexp, keep_dims=True)"
    ),
}
_LIMITS = {"int64": 2**63 - 1, "int32": 2**31 - 1, "int8": 127, "uint8": 255}


def start_of(op: str, dtype: str) -> str:
    """The neutral element."""
    start = FOLDS[op].start
    if not start.endswith("inf"):
        return f"{start}.0" if "float" in dtype else start
    if "float" in dtype:
        return f'{start.removesuffix("inf")}float("inf")'
    limit = _LIMITS.get(dtype, 1)
    return str(limit) if op == "min" else str(-limit - 1) if dtype != "uint8" else "0"


def kept_as(op: str, dtype: str) -> str:
    """The type of partial results."""
    return "int32" if op in ("any", "all") or dtype in ("bool", "int") else dtype


def fold_window(scope: Scope, value: Reduce, index: Index) -> str:
    """A small window, place by place."""
    source = value.inputs[0]
    extents = [source.shape[axis] for axis in value.axes]
    count = product(extents)
    if not count.fixed or count.value > _MOST_UNROLLED:
        return _loop_over_window(scope, value, index)
    total = ""
    for taps in combinations(*(range(extent.value) for extent in extents)):
        element = _tap(scope, value, index, [str(tap) for tap in taps])
        code = scope.write(element).code
        total = FOLDS[value.op].join.format(total, code) if total else code
        total = scope.assign(scope.write(element)._replace(code=total))
    if not total:
        raise Unfit(value)
    return total


def _tap(scope: Scope, value: Reduce, index: Index, taps: list[str]) -> str:
    """One element of a window; nothing where it lies beyond the input."""
    source = value.inputs[0]
    place = value.source_index(index, taps)
    tests = []
    for slide in value.slides:
        here = add(mul(index[slide.place], str(slide.stride)),
                   mul(taps[slide.tap], str(slide.dilation)))  # fmt: skip
        here = atom(sub(here, str(slide.pad)))
        tests.append(f"{here} >= 0 && {here} < {slide.size.code}")
    if not tests:
        return scope.value(source, place)
    with scope.guarded(" && ".join(tests)) as inner:
        element = inner.value(source, place)
    start = start_of(value.op, source.dtype)
    return scope.define_guarded(CTYPES[source.dtype], inner, element, _cpp(start))


def _cpp(start: str) -> str:
    return start.replace('float("inf")', "km::inf")


def _loop_over_window(scope: Scope, value: Reduce, index: Index) -> str:
    source = value.inputs[0]
    names = [scope.fresh("int", frozenset()) for _ in value.axes]
    body = scope.child(*names)
    scope.names -= set(names)
    element = _tap(body, value, index, names)
    term = body.write(element)
    dtype = kept_as(value.op, term.dtype)
    tiles = scope.frame.tiles_in(" ".join([term.code, *index.parts]))
    total = scope.fresh(dtype, tiles)
    start = start_of(value.op, dtype)
    scope.lines.append(f"{total} = tl.full({scope.frame.shape(tiles)}, {start}, tl.{dtype})")
    body.lines.append(f"{total} = {FOLDS[value.op].join.format(total, term.code)}")
    lines = body.lines
    for name, axis in reversed(list(zip(names, value.axes, strict=True))):
        size = scope.write(source.shape[axis].code).code
        lines = [f"for {name} in range(0, {size}):", *(f"    {line}" for line in lines)]
    scope.lines += lines
    return total


class WindowFolding:
    """Windows only: what else is folded must be stored first."""

    def fold(self, scope: Scope, value: Reduce, index: Index) -> str:
        if not value.window:
            raise Unfit(value)
        return fold_window(scope, value, index)
