"""The library operations that HIVM calls: the result of each, and its cost on a pipe."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelmill.backends.triton_ascend.hivm.memory import MemRef, NumpyArray
from kernelmill.backends.triton_ascend.hivm.pipes import Pipes


class UnknownOperation(Exception):
    """HIVM calls an operation that is not implemented here."""


Operation = Callable[[Pipes, tuple[Any, ...]], None]
"""Computes on its operands and charges the pipe it runs on."""
OperationFactory = Callable[[re.Match[str]], Operation]
_PATTERNS: list[tuple[re.Pattern[str], OperationFactory]] = []

_TYPES = "float|half|bfloat16_t|double|int64_t|int32_t|int16_t|int8_t|uint8_t|uint32_t|bool"
_UNARY: dict[str, Callable[[NumpyArray], NumpyArray]] = {
    "exp": np.exp, "ln": np.log, "sqrt": np.sqrt, "abs": np.abs, "not": np.logical_not,
    "rsqrt": lambda x: 1 / np.sqrt(x), "rec": np.reciprocal, "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "erf": np.vectorize(math.erf, otypes="f"),
    "neg": np.negative,
}  # fmt: skip
_BINARY: dict[str, Callable[[NumpyArray, NumpyArray], NumpyArray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "pow": np.power, "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_REDUCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply,
         "any": np.logical_or, "all": np.logical_and}  # fmt: skip
_ROUND: dict[int, Callable[[NumpyArray], NumpyArray]] = {
    0: np.rint, 1: lambda x: np.trunc(x + np.copysign(0.5, x)), 2: np.floor, 3: np.ceil,
    4: np.trunc,
}  # fmt: skip
_REPEAT_CYCLES = {
    "exp": 4.0, "ln": 4.0, "sqrt": 4.0, "rsqrt": 4.0, "div": 4.0, "rec": 4.0, "tanh": 12.0,
    "erf": 12.0, "sin": 12.0, "cos": 12.0, "pow": 12.0,
}  # fmt: skip
"""Cycles per repeat of an instruction, where it is not one."""
_ATOMIC_ADD = 1


def find_operation(name: str) -> Operation:
    """Raises UnknownOperation."""
    for pattern, make in _PATTERNS:
        if found := pattern.fullmatch(name):
            return make(found)
    raise UnknownOperation(name)


def _register(pattern: str) -> Callable[[OperationFactory], OperationFactory]:
    def add(make: OperationFactory) -> OperationFactory:
        _PATTERNS.append((re.compile(pattern.replace("TYPE", f"(?:{_TYPES})")), make))
        return make

    return add


def _value(operand: Any) -> Any:
    return operand.read() if isinstance(operand, MemRef) else operand


def _contiguous_runs(view: MemRef) -> int:
    """Number of contiguous runs of elements."""
    inner = view.shape[-1] if view.shape and view.strides[-1] == 1 else 1
    return view.elements // inner if inner else 0


@_register(r"load_gm_to_ubuf_\dd_TYPE")
def _load(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target = operands[:2]
        target.write(source.read())
        pipes.copy("MTE2", source.bytes, _contiguous_runs(source))

    return run


@_register(r"store_ubuf_to_gm_\dd_TYPE")
def _store(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target, atomic = operands
        if atomic not in (0, _ATOMIC_ADD):
            raise UnknownOperation(f"store with atomic kind {atomic}")
        target.write(target.read() + source.read() if atomic else source.read())
        pipes.copy("MTE3", target.bytes, _contiguous_runs(target))

    return run


@_register(r"copy_ubuf_to_ubuf_\dd_TYPE")
def _copy(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        operands[1].write(operands[0].read())
        pipes.vector(operands[1].bytes, 1)

    return run


@_register(rf"v({'|'.join(_UNARY)})_\dd_TYPE")
def _unary(found: re.Match[str]) -> Operation:
    compute, cost = _UNARY[found[1]], _REPEAT_CYCLES.get(found[1], 1.0)

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target = operands[:2]
        target.write(compute(source.read()))
        pipes.vector(target.bytes, cost)

    return run


@_register(rf"v({'|'.join(_BINARY)})s?(?:_vs|_sv)?_\dd_TYPE")
def _binary(found: re.Match[str]) -> Operation:
    compute, cost = _BINARY[found[1]], _REPEAT_CYCLES.get(found[1], 1.0)

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        left, right, target = operands[:3]
        target.write(compute(_value(left), _value(right)))
        pipes.vector(target.bytes, cost)

    return run


@_register(rf"vcmps?_({'|'.join(_COMPARE)})(?:_vs|_sv)?_\dd_TYPE")
def _compare(found: re.Match[str]) -> Operation:
    compute = _COMPARE[found[1]]

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        left, right, target = operands[:3]
        target.write(compute(_value(left), _value(right)))
        pipes.vector(left.bytes, 1)

    return run


@_register(r"vsel(?:_\w\w)?_\dd(?:_bool)?_TYPE")
def _select(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        condition, left, right, target = operands[:4]
        target.write(np.where(condition.read(), _value(left), _value(right)))
        pipes.vector(target.bytes, 1)

    return run


@_register(rf"vcast_({_TYPES})_to_({_TYPES})_\dd(?:_\w+)?")
def _cast(found: re.Match[str]) -> Operation:
    whole = found[2].startswith(("int", "uint")) and found[1] in ("float", "half", "bfloat16_t")

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target, mode = operands[0], operands[1], operands[-1]
        values = source.read()
        target.write(_ROUND.get(mode, np.trunc)(values) if whole else values)
        pipes.vector(max(source.bytes, target.bytes), 1)

    return run


@_register(r"broadcast_\w+_\dd_TYPE|broadcast_scalar_TYPE_to_\dd")
def _broadcast(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target = operands[:2]
        target.write(_value(source))
        pipes.vector(target.bytes, 1)

    return run


@_register(rf"(?:enablevc_)?reduce_({'|'.join(_REDUCTIONS)})_([ar]+)\d?_TYPE")
def _reduce(found: re.Match[str]) -> Operation:
    reduction, letters = _REDUCTIONS[found[1]], found[2]
    axes = tuple(index for index, letter in enumerate(letters) if letter == "r")

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target, initial = operands[0], operands[1], operands[-1]
        reduced = reduction.reduce(source.read(), axis=axes, keepdims=True)
        target.write(reduction(reduced, initial).astype(reduced.dtype))
        pipes.vector(source.bytes, 2)
        pipes.vector(min(source.bytes, 4096), 2)

    return run


@_register(r"arange_\dd_TYPE")
def _arange(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        target, start, *steps = operands
        grids = np.indices(target.shape)
        target.write(start + sum(s * g for s, g in zip(steps, grids, strict=True)))
        pipes.vector(target.bytes, 1)

    return run


@_register(r"vtranspose_2d_TYPE|transpose_2d_TYPE")
def _transpose(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        operands[1].write(operands[0].read().T)
        pipes.vector(operands[1].bytes, 4)

    return run


@_register(r"set_l1_\dd_TYPE")
def _fill_l1(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        operands[1].write(operands[0])
        pipes.work("MTE2", operands[1].bytes / 256)

    return run


@_register(r"nd2nz_TYPE")
def _to_blocks(_: re.Match[str]) -> Operation:
    """Copies a matrix to L1 in the cube's layout (NZ): columns of blocks of 16 rows."""

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target = operands
        columns, rows, height, width = target.shape
        matrix = source.read()
        m, n = matrix.shape
        blocks = target.array().transpose(1, 2, 0, 3)
        whole = blocks.reshape(rows * height, columns * width).copy()
        whole[:m, :n] = source.array()
        blocks[...] = whole.reshape(rows, height, columns, width)
        pipes.copy("MTE2", source.bytes, _contiguous_runs(source))

    return run


@_register(r"mma_tile_(TYPE)_to_TYPE")
def _multiply(found: re.Match[str]) -> Operation:
    dtype = found[1]

    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        left, right, first, m, k, n, target, *events = operands
        wait_left, wait_right, set_left, set_right = events[:4]
        for event in (wait_left, wait_right):
            if event >= 0:
                pipes.wait_flag("MTE2", "MTE1", event)
        a, b = _matrix(left)[:m, :k], _matrix(right)[:k, :n]
        sums = target.array().transpose(1, 2, 0, 3)
        rows, height, columns, width = sums.shape
        whole = sums.reshape(rows * height, columns * width).copy()
        product = a.astype(np.float32) @ b.astype(np.float32)
        whole[:m, :n] = product if first else whole[:m, :n] + product
        sums[...] = whole.reshape(rows, height, columns, width)
        pipes.multiply(m, k, n, dtype, left.bytes + right.bytes)
        for event in (set_left, set_right):
            if event >= 0:
                pipes.set_flag("MTE1", "MTE2", event)

    return run


@_register(r"fixpipe_nz2nd_TYPE_to_TYPE_4d_to_2d")
def _write_out(_: re.Match[str]) -> Operation:
    def run(pipes: Pipes, operands: tuple[Any, ...]) -> None:
        source, target = operands[:2]
        m, n = target.shape
        target.write(_matrix(source)[:m, :n])
        pipes.copy("FIX", target.bytes, _contiguous_runs(target))

    return run


def _matrix(blocks: MemRef) -> NumpyArray:
    """A matrix that is stored in the cube's layout."""
    columns, rows, height, width = blocks.shape
    return blocks.read().transpose(1, 2, 0, 3).reshape(rows * height, columns * width)
