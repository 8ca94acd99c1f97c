"""Tracing of the kernels that a candidate's forward launches. Runs inside sandboxes only."""

from typing import Any, Generic, TypeVar

import torch

from kernelmill.backends.support.launch_arguments import LaunchArgument
from kernelmill.backends.support.launch_log import CallTraceRequest, Output
from kernelmill.backends.support.meta_trace import ForbiddenCall, Tracer

_Launch = TypeVar("_Launch")


class LaunchTracer(Tracer, Generic[_Launch]):
    """Stands in for a library's launcher: records launches instead of executing them."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[_Launch] = []
        """Launches of the call that is being traced, in order."""

    def record(self, model: torch.nn.Module, request: CallTraceRequest) -> list[Output]:
        """Trace one call of forward. Raises ForbiddenCall where it launches nothing."""
        self.launches = []
        outputs = self.run(model, request)
        if not self.launches:
            raise ForbiddenCall("forward launches no kernel")
        return outputs

    def argument(self, kernel: str, value: Any) -> LaunchArgument:
        if isinstance(value, torch.Tensor):
            return LaunchArgument(tensor=self.place(value))
        if isinstance(value, bool | int | float):
            return LaunchArgument.of_number(value)
        raise ForbiddenCall(f"{kernel} takes tensors and numbers, not {value!r:.60}")
