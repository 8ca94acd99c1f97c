"""Runs translated kernels: every program of the grid, on the core it would fall to."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernelmill.backends.triton_ascend.hivm.memory import CAPACITY, Memory, View
from kernelmill.backends.triton_ascend.hivm.operations import Operation, Unknown, find
from kernelmill.backends.triton_ascend.hivm.pipes import CORES, LAUNCH_CYCLES, PIPES, Pipes
from kernelmill.backends.triton_ascend.hivm.translate import ENTRY, Program

_NUMBERS = {"f32": np.float32, "f16": np.float16, "bf16": np.float32, "f64": np.float64}
_BITS = {"f32": "u4", "f16": "u2", "f64": "u8"}
_MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "sqrt": np.sqrt, "log": np.log, "absf": np.abs, "tanh": np.tanh,
    "floor": np.floor, "ceil": np.ceil, "rsqrt": lambda value: 1 / np.sqrt(value),
}  # fmt: skip
_LOAD_CYCLES = 20
"""Of the scalar unit, which reads the unified buffer slowly."""


class Launch(NamedTuple):
    """What one launch took."""

    cycles: float
    bytes: int
    """Moved from and to global memory."""
    busy: dict[str, float]
    """Pipe -> cycles of the busiest core."""
    flags: int
    programs: int


def launch(program: Program, grid: tuple[int, int, int], arguments: list[Memory | Any]) -> Launch:
    """Run every program; tensors are changed in place.

    Raises OutOfBounds, Deadlock, or Unknown for an operation that is not known.
    """
    namespace: dict[str, Any] = {
        "__builtins__": {"range": range, "max": max, "min": min, "int": int},
        "quotient": _quotient, "remainder": _remainder, "ceiling": lambda a, b: -(-a // b),
        "floor": lambda a, b: a // b,
    }  # fmt: skip
    exec(compile(program.source, f"<{program.name}>", "exec"), namespace)
    parameters = _parameters(program, grid, arguments)
    machine = _Machine()
    cores = CORES.get(program.core, CORES["AIV"])
    cycles: Counter[int] = Counter()
    busy: dict[int, Counter[str]] = {}
    with np.errstate(all="ignore"):
        for block in range(math.prod(grid)):
            machine.begin(block)
            namespace[ENTRY](machine, *parameters)
            cycles[block % cores] += math.ceil(machine.pipes.cycles)
            busy.setdefault(block % cores, Counter()).update(machine.pipes.busy)
    last = max(cycles, key=lambda core: (cycles[core], -core))
    return Launch(
        LAUNCH_CYCLES + cycles[last],
        machine.bytes,
        {pipe: busy[last][pipe] for pipe in PIPES},
        machine.pipes.flags,
        math.prod(grid),
    )


def _parameters(
    program: Program, grid: tuple[int, int, int], arguments: list[Memory | Any]
) -> list[Any]:
    """In the program's order. Nothing of ours uses what the run time would pass."""
    own, sizes = iter(arguments), iter(grid)
    found: list[Any] = []
    for parameter in program.parameters:
        if parameter.role == "grid":
            found.append(next(sizes))
        elif parameter.role == "system":
            found.append(None)
        elif parameter.role == "tensor":
            memory = next(own)
            found.append(View(memory, parameter.dtype, 0, (), ()))
        else:
            found.append(next(own))
    return found


class _Machine:
    """What translated code speaks to: one core, its memories and pipes."""

    def __init__(self) -> None:
        self.bytes = 0
        self._operations: dict[str, Operation] = {}
        self.begin(0)

    def begin(self, block: int) -> None:
        """A program finds nothing of the one before."""
        self.block = block
        self.pipes = Pipes()
        self._spaces: dict[str, Memory] = {}

    def local(
        self, space: str, dtype: str, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> View:
        if space not in self._spaces:
            self._spaces[space] = Memory.fresh(space, CAPACITY[space])
        view = View(self._spaces[space], dtype, 0, shape, strides)
        return view._replace(offset=8 * address if dtype == "i1" else address // view.item)

    def call(self, name: str, operands: tuple[Any, ...]) -> None:
        if name not in self._operations:
            self._operations[name] = find(name)
        self._operations[name](self.pipes, operands)
        for operand in operands:
            if isinstance(operand, View) and operand.memory.name not in CAPACITY:
                self.bytes += operand.bytes

    def load(self, view: View, index: tuple[int, ...]) -> Any:
        self.pipes.scalar(_LOAD_CYCLES)
        ones = (1,) * len(index)
        return view.subview(index, ones, ones).read().reshape(-1)[0]

    def store(self, value: Any, view: View, index: tuple[int, ...]) -> None:
        self.pipes.scalar(_LOAD_CYCLES)
        ones = (1,) * len(index)
        view.subview(index, ones, ones).write(value)

    def number(self, value: Any, kind: str) -> Any:
        return _NUMBERS[kind](value)

    def from_bits(self, bits: int, kind: str) -> Any:
        """A constant that the text gives by its bits: infinity, not a number."""
        if kind == "bf16":
            bits, kind = bits << 16, "f32"
        return np.array([bits], _BITS[kind]).view(_NUMBERS[kind])[0]

    def math(self, name: str, *values: Any) -> Any:
        if name not in _MATH:
            raise Unknown(f"math.{name}")
        return _MATH[name](*values)


def _quotient(a: int, b: int) -> int:
    """Towards zero, as machines do it."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)
