"""The contract of a device kind: where candidates run, and how the judge works there."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

from kernelmill.backends.base import Backend
from kernelmill.judge.harness import Harness
from kernelmill.judge.settings import JudgeSettings
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote

HarnessFactory = Callable[[Task], Harness[Any]]
"""Makes the harness of a task. Raises TaskError."""


class JudgedDevice(ABC):
    """One kind of device. Instances hold no state and may be used from several threads.

    A device kind is a plug-in: a class behind the entry point `kernelmill.devices`, under the
    name that backends give as their `device_kind`. Everything that differs between kinds of
    devices is here or in the harness: the runner's program, the clock, memory, environment
    variables, device files, hints for exceptions.
    """

    name: ClassVar[str]
    """The name of its entry point."""
    numerics: ClassVar[tuple[Numerics, ...]] = (Numerics.IEEE,)
    """What its baselines can be held to, the default first."""
    framework: ClassVar[str] = "cpu"
    """The framework's device type, on which references are described and run."""
    modules: ClassVar[tuple[str, ...]]
    """Modules with the programs of its sandboxes, which the zygote imports first."""
    is_separate: ClassVar[bool] = False
    """Whether compilers that run on the CPU leave its timing undisturbed."""
    is_checked_ahead: ClassVar[bool] = False
    """Whether a campaign gets a task ready, with its baseline, before it asks for a kernel."""
    is_scarce: ClassVar[bool] = True
    """Whether its memory may be too small for tasks that are described concurrently."""

    def demand_usable(self, backend: Backend) -> None:  # noqa: B027 (most devices need nothing)
        """Raise BackendUnavailable where no task could be loaded on it."""

    def device_files(self) -> tuple[str, ...]:
        """Device files that a sandbox must open to compute on it."""
        return ()

    def environment(self, number: int) -> Mapping[str, str]:
        """Environment variables that restrict sandboxes to one of several devices."""
        return {}

    def bytes_needed(self, task: Task) -> int:
        """The memory that a verdict on the task takes at the least; 0 where there is enough."""
        return 0

    @abstractmethod
    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        """The factory of one judge's harnesses.

        What they share is registered with `resources`, which the judge closes after the harnesses.
        """
