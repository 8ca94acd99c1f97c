"""The contract of a backend whose target is not in this machine.

Its candidates are executed by a simulator, and timed by a deterministic model that the verdict
names. Nothing of this is wall-clock time.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.base import Backend, Built, CandidateFailed, Device
from kernelmill.candidate import Candidate
from kernelmill.errors import UsageError
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Kind, Task
from kernelmill.tensors.arguments import CallArguments, InitArguments


class Estimate(msgspec.Struct, frozen=True):
    """What the model says one call takes. The same for the same kernel and shapes, always."""

    milliseconds: float
    cycles: float
    bytes: int
    """Moved between the chip's memory and its core."""
    model: str
    """Whose numbers these are, with a version: `libtpu 0.0.42, static LLO profile`."""
    units: dict[str, float] = {}
    """Unit of the chip, or kind of instruction -> share of the cycles, the greatest first."""
    notes: tuple[str, ...] = ()
    """What else a writer of kernels should know, a short line each: memory used, grid steps."""


class Peak(NamedTuple):
    """What the chip cannot do faster, whatever the kernel."""

    bytes_per_second: float
    operations_per_second: float


class RunFailed(CandidateFailed):
    """The simulator stops the kernel: a race, an access out of bounds, memory that overflows."""


class BaselineMissing(Exception):
    """There is nothing to compare with on this backend; the message says why."""


class Session(ABC):
    """A kernel in a cell with its tool chain, for as many calls as wanted.

    Methods raise `RunFailed` for the kernel's own mistakes where the tool chain can say what they
    are, `BuildFailed` where it builds for the shapes of a call and cannot, and `CellFailure` where
    the cell does not answer (it crashed, it takes too long); nothing else. Calls know nothing of
    each other. The cell is nobody's friend: what it says of its own speed must come from a part of
    it that the kernel cannot reach.
    """

    @abstractmethod
    def execute(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> list[npt.NDArray[Any]]:
        """One call. The outputs are compared by whoever asked; bfloat16 comes as its raw bits."""

    @abstractmethod
    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        """What a call with arguments of these shapes takes, by the model."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ModelledBackend(Backend):
    """A backend for chips that nobody needs to have. Says its `clock` and its `baseline`."""

    device = Device.MODELLED
    scale = "npu"
    exact = True

    def __init__(self, chip: str = "") -> None:
        if chip and chip not in self.chips:
            raise UsageError(f"backend {self.name} knows {', '.join(self.chips)}, not {chip!r}")
        self.chip = chip or self.chips[0]

    @property
    @abstractmethod
    def peak(self) -> Peak:
        """Of the chip: no estimate below what it allows is believed."""

    @abstractmethod
    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        """A cell of its own for a built candidate. Raises CellFailure or CandidateFailed."""

    @abstractmethod
    def open_baseline(self, task: Task, init: InitArguments, zygote: Zygote) -> Session:
        """The tool chain's own way to compute the task's function, from nothing but the reference.

        What it computes is checked like a candidate's. Raises BaselineMissing where there is none
        for this task.
        """


def check_outputs(
    found: Sequence[Kind], wanted: Sequence[Kind], widened: Mapping[str, str] | None = None
) -> None:
    """The form of what a kernel returns; `widened` types stand for the longer ones a chip lacks.

    Raises RunFailed, without the sizes: some are secret.
    """
    if len(found) != len(wanted):
        raise RunFailed(
            "length", f"forward returns {len(found)} tensors, the reference {len(wanted)}", ()
        )
    for index, (kind, expected) in enumerate(zip(found, wanted, strict=True)):
        name = f"output {index}" if len(wanted) > 1 else "the output"
        if kind.shape != expected.shape:
            raise RunFailed(
                "shape", f"{name} has the wrong shape: {_difference(kind, expected)}", ()
            )
        if expected.dtype not in (kind.dtype, (widened or {}).get(kind.dtype)):
            raise RunFailed("type", f"{name} is {kind.dtype}, not {expected.dtype}", ())


def _difference(found: Kind, wanted: Kind) -> str:
    if len(found.shape) != len(wanted.shape):
        return f"{len(found.shape)} axes, not {len(wanted.shape)}"
    pairs = zip(found.shape, wanted.shape, strict=True)
    axes = [str(axis) for axis, (size, right) in enumerate(pairs) if size != right]
    return f"other sizes along axis {', '.join(axes)}"
