"""Library operations that HIVM calls, as calls of the run time in C."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Value(NamedTuple):
    """An operand in translated code."""

    name: str
    ctype: str

    @property
    def operand(self) -> str:
        if self.ctype == "View":
            return f"VIEW({self.name})"
        real = self.ctype in ("float", "double")
        return f"REAL({self.name})" if real else f"WHOLE({self.name})"

    @property
    def view(self) -> str:
        if self.ctype != "View":
            raise UnknownOperation(f"a number where {self.name} should be a buffer")
        return f"&{self.name}"


class UnknownOperation(Exception):
    """HIVM calls an operation that is not implemented here."""


CallWriter = Callable[[re.Match[str], Sequence[Value]], str]
_PATTERNS: list[tuple[re.Pattern[str], CallWriter]] = []
_TYPES = (
    "float|half|bfloat16_t|double|int64_t|int32_t|int16_t|int8_t|uint64_t|uint32_t|uint16_t|"
    "uint8_t|bool"
)
_UNARY = {
    "exp": "EXP", "ln": "LN", "sqrt": "SQRT", "abs": "ABS", "not": "NOT", "rsqrt": "RSQRT",
    "rec": "REC", "relu": "RELU", "tanh": "TANH", "sin": "SIN", "cos": "COS", "erf": "ERF",
    "neg": "NEG", "floor": "FLOOR", "ceil": "CEIL", "round": "ROUND", "rint": "ROUND",
    "trunc": "TRUNC",
}  # fmt: skip
_BINARY = {
    "add": "ADD", "sub": "SUB", "mul": "MUL", "div": "DIV", "max": "MAX", "min": "MIN",
    "and": "AND", "or": "OR", "xor": "XOR", "pow": "POW", "shl": "SHL", "shr": "SHR",
    "mod": "MOD",
}  # fmt: skip
_REDUCTIONS = {"sum": "ADD", "max": "MAX", "min": "MIN", "prod": "MUL", "any": "OR", "all": "AND",
               "xori": "XOR", "ori": "OR", "andi": "AND"}  # fmt: skip
_RUNNING = {"sum": "ADD", "prod": "MUL"}
_REPEAT_CYCLES = {
    "exp": 4, "ln": 4, "sqrt": 4, "rsqrt": 4, "div": 4, "rec": 4, "mod": 8, "tanh": 12, "erf": 12,
    "sin": 12, "cos": 12, "pow": 12,
}  # fmt: skip
"""Cycles per repeat of an instruction, where it is not one."""


def write_call(name: str, operands: Sequence[Value]) -> str:
    """A statement of C. Raises UnknownOperation."""
    for pattern, write in _PATTERNS:
        if found := pattern.fullmatch(name):
            try:
                return write(found, operands)
            except (IndexError, ValueError) as error:
                raise UnknownOperation(f"{name} with {len(operands)} operands") from error
    raise UnknownOperation(name)


def write_masked_load(operands: Sequence[Value]) -> str:
    """The load of a loop that the compiler made of a mask that is not a range."""
    source, target = operands[:2]
    return f"load_masked(core, {source.view}, {target.view})"


def _register(pattern: str) -> Callable[[CallWriter], CallWriter]:
    def add(write: CallWriter) -> CallWriter:
        _PATTERNS.append((re.compile(pattern.replace("TYPE", f"(?:{_TYPES})")), write))
        return write

    return add


def _axes(letters: str) -> int:
    """The bits of reduced axes: r in `ar`, `ara` or `ra0a1`."""
    return sum(1 << axis for axis, letter in enumerate(re.sub(r"\d", "", letters)) if letter == "r")


@_register(r"load_gm_to_ubuf_\dd_TYPE")
def _load(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    return f"copy(core, PIPE_MTE2, {source.view}, {target.view}, NO_ATOMIC)"


@_register(r"store_ubuf_to_gm_\dd_TYPE")
def _store(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target, atomic = operands
    return f"copy(core, PIPE_MTE3, {source.view}, {target.view}, {atomic.name})"


@_register(r"copy_ubuf_to_ubuf_\dd_TYPE")
def _copy(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    return f"copy(core, PIPE_V, {source.view}, {target.view}, NO_ATOMIC)"


@_register(rf"v({'|'.join(_UNARY)})_\dd_TYPE")
def _unary(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    cost = _REPEAT_CYCLES.get(found[1], 1)
    return f"unary(core, {_UNARY[found[1]]}, {cost}, {source.view}, {target.view})"


@_register(rf"v({'|'.join(_BINARY)})s?(?:_vs|_sv)?_\dd_TYPE")
def _binary(found: re.Match[str], operands: Sequence[Value]) -> str:
    left, right, target = operands[:3]
    op, cost = _BINARY[found[1]], _REPEAT_CYCLES.get(found[1], 1)
    return f"binary(core, {op}, {cost}, {left.operand}, {right.operand}, {target.view})"


@_register(r"vcmps?_(eq|ne|lt|le|gt|ge)(?:_vs|_sv)?_\dd_TYPE")
def _compare(found: re.Match[str], operands: Sequence[Value]) -> str:
    left, right, target = operands[:3]
    return f"compare(core, {found[1].upper()}, {left.operand}, {right.operand}, {target.view})"


@_register(r"vsel(?:_\w\w)?_\dd(?:_bool|_int8_t)?_TYPE")
def _select(_: re.Match[str], operands: Sequence[Value]) -> str:
    condition, left, right, target = operands[:4]
    return f"choose(core, {condition.view}, {left.operand}, {right.operand}, {target.view})"


@_register(rf"vcast_(?:{_TYPES})_to_(?:{_TYPES})_\dd(?:_\w+)?")
def _cast(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target, mode = operands[0], operands[1], operands[-1]
    return f"cast(core, {mode.name}, {source.view}, {target.view})"


@_register(r"broadcast_\w+_\dd_TYPE|broadcast_scalar_TYPE_to_\dd")
def _broadcast(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    return f"broadcast(core, {source.operand}, {target.view})"


@_register(rf"(?:enablevcg?_)?reduce_({'|'.join(_REDUCTIONS)})_((?:[ar]\d?)+)_TYPE")
def _reduce(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target, start = operands[0], operands[1], operands[-1]
    op, axes = _REDUCTIONS[found[1]], _axes(found[2])
    return f"reduce(core, {op}, {axes}u, {source.view}, {target.view}, {start.operand})"


@_register(r"(?:enablevc_)?reduce_(max|min)_with_index(?:_\w+?)?_([ar]+)\d?_TYPE(?:_TYPE)?")
def _reduce_with_place(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target, place = operands[:3]
    op, axes = _REDUCTIONS[found[1]], _axes(found[2])
    return f"reduce_place(core, {op}, {axes}u, {source.view}, {target.view}, {place.view})"


@_register(r"v?cum(sum|prod)_([ar]+)\d?_TYPE")
def _running(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    op, axes = _RUNNING[found[1]], _axes(found[2])
    return f"running(core, {op}, {axes}u, false, {source.view}, {target.view})"


@_register(r"arange_\dd_TYPE")
def _arange(_: re.Match[str], operands: Sequence[Value]) -> str:
    target, start, *steps = operands
    numbers = ", ".join(step.name for step in steps)
    return f"count_up(core, {target.view}, {start.name}, (int64_t[]){{{numbers}}})"


@_register(r"v?transpose_(2d(?:_with_last_axis)?|3d_with(?:out)?_last_axis)_TYPE")
def _transpose(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    axes = {"2d": "1, 0", "3d_with": "2, 1, 0", "3d_without": "1, 0, 2"}
    order = axes[found[1].removesuffix("_last_axis").replace("2d_with", "2d")]
    return f"transpose(core, {source.view}, {target.view}, (int[]){{{order}}})"


@_register(r"v?gather_1d_TYPE(?:_TYPE)?")
def _gather(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, places, target = operands[:3]
    return f"gather(core, {source.view}, {places.view}, {target.view})"


@_register(r"deinterleave_channel_(\d+)_from_(?:n|\d+)_channels_\dd_TYPE")
def _deinterleave(found: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    return f"pick_channel(core, {found[1]}, {source.view}, {target.view})"


@_register(r"set_l1_\dd_TYPE")
def _fill_l1(_: re.Match[str], operands: Sequence[Value]) -> str:
    value, target = operands[:2]
    return f"fill_l1(core, {value.operand}, {target.view})"


@_register(r"nd2nz_TYPE")
def _to_blocks(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands
    return f"to_blocks(core, {source.view}, {target.view})"


@_register(r"mma_tile_TYPE_to_TYPE(_ta)?(_tb)?")
def _multiply(found: re.Match[str], operands: Sequence[Value]) -> str:
    left, right, first, m, k, n, target, *events = operands
    turned = ", ".join("true" if found[group] else "false" for group in (1, 2))
    sizes = ", ".join(size.name for size in (m, k, n))
    flags = ", ".join(event.name for event in events[:4])
    return (
        f"multiply(core, {turned}, {left.view}, {right.view}, {first.name}, {sizes}, "
        f"{target.view}, {flags})"
    )


@_register(r"fixpipe_nz2nd_TYPE_to_TYPE_4d_to_2d")
def _write_out(_: re.Match[str], operands: Sequence[Value]) -> str:
    source, target = operands[:2]
    return f"write_out(core, {source.view}, {target.view})"
