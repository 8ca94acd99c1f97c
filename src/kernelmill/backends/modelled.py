"""The contract of a backend whose chip is not in this machine.

A simulator executes its candidates, and a deterministic model tells their time. Verdicts name the
model. Nothing here is wall-clock time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.base import Backend, Built, CandidateFailed
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import UsageError
from kernelmill.records.task import Task, TensorSpec
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import CallArguments, InitArguments


class Estimate(msgspec.Struct, frozen=True):
    """The modelled cost of one call. Always the same for the same kernel and shapes."""

    milliseconds: float
    cycles: float
    bytes: int
    """Bytes moved between the chip's memory and its core."""
    model: str
    """Name and version of the model: `libtpu 0.0.42, static LLO profile`."""
    units: dict[str, float] = {}
    """Unit of the chip or kind of instruction -> share of the cycles, largest first."""
    notes: tuple[str, ...] = ()
    """Other facts for writers of kernels, one short line each: memory used, grid steps."""


class Peak(NamedTuple):
    """Upper limits of the chip, whatever the kernel."""

    bytes_per_second: float
    operations_per_second: float


class RunFailed(CandidateFailed):
    """The simulator stopped the kernel: a race, an access out of bounds, a memory overflow."""


class BaselineMissing(Exception):
    """The backend has no baseline for a task; the message says why."""


class OperatorsLacking(BaselineMissing):
    """The task needs operators that the backend does not have; the message names them."""


class Session(ABC):
    """A kernel in a sandbox with its simulator, for any number of calls.

    Threads: one at a time. Ownership: whoever opens a session closes it. Calls are independent of
    each other.

    Errors: methods raise `RunFailed` for mistakes of the kernel that the simulator can name,
    `BuildFailed` if the tool chain builds for the shapes of a call and refuses them, and
    `SandboxFailure` if the sandbox crashes or gives no answer in time; nothing else.

    Trust: the sandbox may be hostile. What it reports of its own speed must come from a part that
    the kernel cannot reach.
    """

    @abstractmethod
    def execute(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> list[npt.NDArray[Any]]:
        """Run one call within `seconds`. The caller compares the outputs; bfloat16 is raw bits."""

    @abstractmethod
    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        """The modelled cost of a call with arguments of these shapes."""

    @abstractmethod
    def close(self) -> None:
        """End the sandbox. May be called more than once."""

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


SessionOpener = Callable[[], Session]
"""Opens a session. Raises SandboxFailure, CandidateFailed or BaselineMissing."""


class ModelledBackend(Backend):
    """A backend that simulates its chip, so that no machine needs to have one.

    Subclasses name their `clock` and their `baseline`.
    """

    device_kind = "modelled"
    scale = "npu"
    deterministic_timing = True

    def __init__(self, chip: str = "") -> None:
        if chip and chip not in self.chips:
            raise UsageError(f"backend {self.name} knows {', '.join(self.chips)}, not {chip!r}")
        self.chip = chip or self.chips[0]

    @property
    @abstractmethod
    def peak(self) -> Peak:
        """Limits of the chip. The judge refuses an estimate that beats them."""

    @abstractmethod
    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        """A session of its own for a built candidate. Raises SandboxFailure or CandidateFailed."""

    @abstractmethod
    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        """The tool chain's own ways to compute the task, the preferred one first.

        They are made from the reference alone, and checked like candidates. The judge takes the
        first one that passes. Raises BaselineMissing if there is none for this task: the judge
        then rates candidates against the first feasible one.
        """


def check_outputs(
    found: Sequence[TensorSpec],
    wanted: Sequence[TensorSpec],
    widened: Mapping[str, str] | None = None,
) -> None:
    """Raise RunFailed unless the outputs have the shapes and types of the reference's.

    `widened` maps an output type to the wider one of the reference that the chip lacks. The message
    names no sizes, since some are secret.
    """
    if len(found) != len(wanted):
        raise RunFailed(
            "length", f"forward returns {len(found)} tensors, the reference {len(wanted)}", ()
        )
    for index, (spec, expected) in enumerate(zip(found, wanted, strict=True)):
        name = f"output {index}" if len(wanted) > 1 else "the output"
        if spec.shape != expected.shape:
            raise RunFailed(
                "shape", f"{name} has the wrong shape: {_difference(spec, expected)}", ()
            )
        if expected.dtype not in (spec.dtype, (widened or {}).get(spec.dtype)):
            raise RunFailed("type", f"{name} is {spec.dtype}, not {expected.dtype}", ())


def _difference(found: TensorSpec, wanted: TensorSpec) -> str:
    if len(found.shape) != len(wanted.shape):
        return f"{len(found.shape)} axes, not {len(wanted.shape)}"
    pairs = zip(found.shape, wanted.shape, strict=True)
    axes = [str(axis) for axis, (size, right) in enumerate(pairs) if size != right]
    return f"other sizes along axis {', '.join(axes)}"
