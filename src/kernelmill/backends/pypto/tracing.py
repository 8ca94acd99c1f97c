"""The tracing program: records which kernels forward calls, and with what arguments.

Runs inside a sandbox, under the Python of the tool chain.
"""

from collections.abc import Callable
from typing import Any

import pypto
import torch

from kernelmill.backends.pypto.protocol import KernelCall, PyptoTrace
from kernelmill.backends.support.launch_log import CallTraceRequest
from kernelmill.backends.support.launch_tracer import LaunchTracer
from kernelmill.backends.support.meta_trace import ForbiddenCall, serve_traces
from kernelmill.sandbox.channel import Channel


def trace_pypto_calls(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    serve_traces(channel, scratch, _CallTracer())


class _CallTracer(LaunchTracer[KernelCall]):
    """Replaces the library's `jit` decorator."""

    def __init__(self) -> None:
        super().__init__()
        pypto.frontend.jit = self._decorate

    def trace(self, model: torch.nn.Module, request: CallTraceRequest) -> PyptoTrace:
        outputs = self.record(model, request)
        return PyptoTrace(buffers=self.buffers, outputs=outputs, calls=self.launches)

    def _decorate(self, kernel: Callable[..., None]) -> Callable[..., None]:
        name = kernel.__name__

        def record_call(*values: Any) -> None:
            for value in values:
                if isinstance(value, torch.Tensor) and not value.is_contiguous():
                    raise ForbiddenCall(f"{name} is given a tensor that is not contiguous")
            arguments = [self.argument(name, value) for value in values]
            self.launches.append(KernelCall(name, arguments))

        return record_call
