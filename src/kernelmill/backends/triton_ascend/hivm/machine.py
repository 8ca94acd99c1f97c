"""Execution of translated kernels: every program of the grid, on the core it is assigned to."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernelmill.backends.triton_ascend.hivm.memory import CAPACITY, MemRef, SimulatedMemory
from kernelmill.backends.triton_ascend.hivm.operations import (
    Operation,
    UnknownOperation,
    find_operation,
)
from kernelmill.backends.triton_ascend.hivm.pipes import CORES, LAUNCH_CYCLES, PIPES, Pipes
from kernelmill.backends.triton_ascend.hivm.translate import ENTRY, TranslatedKernel

_NUMBERS = {"f32": np.float32, "f16": np.float16, "bf16": np.float32, "f64": np.float64}
_BITS = {"f32": "u4", "f16": "u2", "f64": "u8"}
_MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "sqrt": np.sqrt, "log": np.log, "absf": np.abs, "tanh": np.tanh,
    "floor": np.floor, "ceil": np.ceil, "rsqrt": lambda value: 1 / np.sqrt(value),
}  # fmt: skip
_SCALAR_ACCESS_CYCLES = 20
"""Cycles of the scalar unit for one access to the unified buffer."""


class LaunchCost(NamedTuple):
    """The modelled cost of one launch."""

    cycles: float
    bytes: int
    """Bytes moved from and to global memory."""
    busy: dict[str, float]
    """Pipe -> cycles it was busy on the slowest core."""
    flags: int
    """Flags that the last program set."""
    programs: int


def launch_kernel(
    kernel: TranslatedKernel, grid: tuple[int, int, int], arguments: list[SimulatedMemory | Any]
) -> LaunchCost:
    """Run every program of the grid; tensors are changed in place.

    Raises OutOfBounds, Deadlock or UnknownOperation.
    """
    namespace: dict[str, Any] = {
        "__builtins__": {"range": range, "max": max, "min": min, "int": int},
        "quotient": _quotient, "remainder": _remainder, "ceiling": lambda a, b: -(-a // b),
        "floor": lambda a, b: a // b,
    }  # fmt: skip
    exec(compile(kernel.source, f"<{kernel.name}>", "exec"), namespace)
    parameters = _parameters(kernel, grid, arguments)
    machine = _Machine()
    cores = CORES.get(kernel.core, CORES["AIV"])
    cycles: Counter[int] = Counter()
    busy: dict[int, Counter[str]] = {}
    with np.errstate(all="ignore"):
        for block in range(math.prod(grid)):
            machine.begin(block)
            namespace[ENTRY](machine, *parameters)
            cycles[block % cores] += math.ceil(machine.pipes.cycles)
            busy.setdefault(block % cores, Counter()).update(machine.pipes.busy)
    slowest = max(cycles, key=lambda core: (cycles[core], -core))
    return LaunchCost(
        LAUNCH_CYCLES + cycles[slowest],
        machine.bytes,
        {pipe: busy[slowest][pipe] for pipe in PIPES},
        machine.pipes.flags,
        math.prod(grid),
    )


def _parameters(
    kernel: TranslatedKernel, grid: tuple[int, int, int], arguments: list[SimulatedMemory | Any]
) -> list[Any]:
    """Values of the kernel's parameters, in order. Translated code does not use `system` ones."""
    expected = sum(parameter.role in ("tensor", "scalar") for parameter in kernel.parameters)
    if expected != len(arguments):
        raise ValueError(f"{kernel.name} takes {expected} arguments, not {len(arguments)}")
    remaining, sizes = iter(arguments), iter(grid)
    values: list[Any] = []
    for parameter in kernel.parameters:
        if parameter.role == "grid":
            values.append(next(sizes))
        elif parameter.role == "system":
            values.append(None)
        elif parameter.role == "tensor":
            values.append(MemRef(next(remaining), parameter.dtype, 0, (), ()))
        else:
            values.append(next(remaining))
    return values


class _Machine:
    """The interface of translated code: one core with its memories and pipes."""

    def __init__(self) -> None:
        self.bytes = 0
        self._operations: dict[str, Operation] = {}
        self.begin(0)

    def begin(self, block: int) -> None:
        """Start a program with uninitialised memories."""
        self.block = block
        self.pipes = Pipes()
        self._spaces: dict[str, SimulatedMemory] = {}

    def local(
        self, space: str, dtype: str, address: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> MemRef:
        if space not in self._spaces:
            self._spaces[space] = SimulatedMemory.uninitialised(space, CAPACITY[space])
        view = MemRef(self._spaces[space], dtype, 0, shape, strides)
        return view._replace(offset=8 * address if dtype == "i1" else address // view.item_size)

    def call(self, name: str, operands: tuple[Any, ...]) -> None:
        if name not in self._operations:
            self._operations[name] = find_operation(name)
        self._operations[name](self.pipes, operands)
        for operand in operands:
            if isinstance(operand, MemRef) and operand.memory.name not in CAPACITY:
                self.bytes += operand.bytes

    def load(self, view: MemRef, index: tuple[int, ...]) -> Any:
        self.pipes.scalar(_SCALAR_ACCESS_CYCLES)
        ones = (1,) * len(index)
        return view.subview(index, ones, ones).read().reshape(-1)[0]

    def store(self, value: Any, view: MemRef, index: tuple[int, ...]) -> None:
        self.pipes.scalar(_SCALAR_ACCESS_CYCLES)
        ones = (1,) * len(index)
        view.subview(index, ones, ones).write(value)

    def number(self, value: Any, dtype: str) -> Any:
        return _NUMBERS[dtype](value)

    def from_bits(self, bits: int, dtype: str) -> Any:
        """A constant written as its bits: infinity or NaN."""
        if dtype == "bf16":
            bits, dtype = bits << 16, "f32"
        return np.array([bits], _BITS[dtype]).view(_NUMBERS[dtype])[0]

    def math(self, name: str, *values: Any) -> Any:
        if name not in _MATH:
            raise UnknownOperation(f"math.{name}")
        return _MATH[name](*values)


def _quotient(a: int, b: int) -> int:
    """Rounds towards zero, as hardware does."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)
