"""Execution of translated kernels: built by the system's C compiler, run by the runtime library."""

import ctypes
import math
import mmap
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelmill.backends.support.buffers import Bytes
from kernelmill.backends.triton_ascend.hivm.cores import CORES, LAUNCH_CYCLES
from kernelmill.backends.triton_ascend.hivm.runtime import HEADER, HEADER_TEXT
from kernelmill.backends.triton_ascend.hivm.translate import TranslatedKernel

_DTYPES = ("f32", "f16", "bf16", "f64", "i64", "i32", "i16", "i8", "i1")
_PIPES = ("S", "V", "MTE1", "MTE2", "MTE3", "M", "FIX")
_SPACES = ("ub", "cbuf", "cc")
_MAX_RANK = 8
_COMPILE = ("gcc", "-O0", "-w", "-fwrapv", "-std=gnu11", "-shared", "-fPIC")
_FEWEST_BYTES = 64


class OutOfBounds(Exception):
    """A kernel accesses elements outside of a memory or tensor."""


class Deadlock(Exception):
    """A pipe or a core waits for a flag that is never set."""


class UnsupportedOperands(Exception):
    """A library operation gets operands that are not supported."""


_ERRORS = {1: OutOfBounds, 2: Deadlock, 3: UnsupportedOperands}


class _Memory(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("bits", ctypes.c_void_p),
        ("is_global", ctypes.c_bool),
    )


class _View(ctypes.Structure):
    _fields_ = (
        ("memory", ctypes.POINTER(_Memory)),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("base", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("shape", ctypes.c_int64 * _MAX_RANK),
        ("strides", ctypes.c_int64 * _MAX_RANK),
    )


class _Argument(ctypes.Structure):
    _fields_ = (("view", _View), ("real", ctypes.c_double), ("whole", ctypes.c_int64))


class _Launch(ctypes.Structure):
    _fields_ = (
        ("cube", ctypes.c_void_p),
        ("vector", ctypes.c_void_p),
        ("arguments", ctypes.POINTER(_Argument)),
        ("programs", ctypes.c_int64),
        ("cores", ctypes.c_int64),
        ("local_bytes", ctypes.c_int64 * len(_SPACES)),
        ("cycles", ctypes.c_double),
        ("busy", ctypes.c_double * len(_PIPES)),
        ("bytes", ctypes.c_int64),
        ("flags", ctypes.c_int64),
        ("outside", ctypes.c_int64),
        ("error", ctypes.c_int32),
        ("message", ctypes.c_char * 240),
    )


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
    outside: int
    """Scalar loads from outside of a tensor, whose values are NaN or -1."""


class GlobalTensor(NamedTuple):
    """A tensor in global memory, which kernels change in place."""

    name: str
    data: Bytes


class HivmMachine:
    """The runtime library, and the kernels that were built against it."""

    def __init__(self, library: Path, folder: Path) -> None:
        """`folder` is for the kernels. Raises OSError."""
        self._runtime = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._folder = folder
        (folder / HEADER).write_text(HEADER_TEXT)
        self._built = 0

    def build(self, kernel: TranslatedKernel) -> "BuiltKernel":
        """Raises RuntimeError if the C compiler refuses a translation, which is a bug."""
        self._built += 1
        source = self._folder / f"translated{self._built}.c"
        library = source.with_suffix(".so")
        source.write_text(kernel.source)
        command = [*_COMPILE, f"-I{self._folder}", "-o", str(library), str(source)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True)
        if done.returncode:
            raise RuntimeError(f"the translation does not compile: {done.stderr[:400]}")
        return BuiltKernel(kernel, self._runtime, ctypes.CDLL(str(library)))


class BuiltKernel:
    """A kernel that can be launched any number of times."""

    def __init__(
        self, kernel: TranslatedKernel, runtime: ctypes.CDLL, library: ctypes.CDLL
    ) -> None:
        self.kernel = kernel
        self._runtime = runtime
        self._cube = _address(library, "cube") if kernel.core in ("AIC", "MIX") else None
        self._vector = _address(library, "vector") if kernel.core in ("AIV", "MIX") else None

    def launch(
        self, grid: tuple[int, int, int], arguments: list[GlobalTensor | int | float]
    ) -> LaunchCost:
        """Run every program of the grid; tensors are changed in place.

        Raises OutOfBounds, Deadlock or UnsupportedOperands.
        """
        programs = math.prod(grid)
        given = _Arguments(self.kernel, grid, arguments)
        local = [self.kernel.local_bytes.get(space, 0) for space in _SPACES]
        launch = _Launch(
            cube=self._cube, vector=self._vector, arguments=given.array, programs=programs,
            cores=CORES.get(self.kernel.core, CORES["AIV"]),
            local_bytes=(ctypes.c_int64 * len(_SPACES))(*local),
        )  # fmt: skip
        error = self._runtime.hivm_launch(ctypes.byref(launch))
        if error:
            raise _ERRORS[error](launch.message.decode(errors="replace"))
        busy = dict(zip(_PIPES, launch.busy, strict=True))
        cycles = LAUNCH_CYCLES + launch.cycles
        return LaunchCost(cycles, launch.bytes, busy, launch.flags, programs, launch.outside)


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


class _Arguments:
    """Arguments of a launch in the layout of C, and what keeps their memory alive."""

    def __init__(
        self,
        kernel: TranslatedKernel,
        grid: tuple[int, int, int],
        arguments: list[GlobalTensor | int | float],
    ) -> None:
        expected = sum(parameter.role in ("tensor", "scalar") for parameter in kernel.parameters)
        if expected != len(arguments):
            raise ValueError(f"{kernel.name} takes {expected} arguments, not {len(arguments)}")
        self._alive: list[Any] = []
        self.array = (_Argument * len(kernel.parameters))()
        remaining, sizes = iter(arguments), iter(grid)
        for slot, parameter in zip(self.array, kernel.parameters, strict=True):
            if parameter.role == "grid":
                slot.whole = next(sizes)
            elif parameter.role in ("workspace", "system"):
                wanted = kernel.workspace_bytes * math.prod(grid)
                size = wanted if parameter.role == "workspace" else 0
                memory = np.frombuffer(mmap.mmap(-1, max(_FEWEST_BYTES, size)), np.uint8)
                slot.view = self._view(GlobalTensor(parameter.role, memory), parameter.dtype)
            else:
                self._fill(slot, next(remaining), parameter.dtype)

    def _fill(self, slot: _Argument, value: GlobalTensor | int | float, dtype: str) -> None:
        if isinstance(value, GlobalTensor):
            slot.view = self._view(value, dtype)
        else:
            slot.real, slot.whole = float(value), int(value) if math.isfinite(value) else 0

    def _view(self, tensor: GlobalTensor, dtype: str) -> _View:
        if dtype == "i1":
            raise UnsupportedOperands(f"single bits in {tensor.name}")
        data = tensor.data
        memory = _Memory(tensor.name.encode(), data.ctypes.data, data.size, None, True)
        self._alive += [data, memory]
        return _View(memory=ctypes.pointer(memory), dtype=_DTYPES.index(dtype or "i8"))
