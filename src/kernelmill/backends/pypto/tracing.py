"""Traces a candidate: nothing of it leaves but the names of kernels, and what they are called with.

Runs inside a cell, under the Python of the tool chain.
"""

from collections.abc import Callable
from typing import Any

import pypto
import torch

from kernelmill.backends.launches import TraceRequest
from kernelmill.backends.pypto.protocol import Argument, KernelCall, PyptoTrace
from kernelmill.backends.valueless import Misuse, Tracer, serve_traces
from kernelmill.sandbox.channel import Channel


def trace_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    serve_traces(channel, scratch, _CallTracer())


class _CallTracer(Tracer):
    """Takes the place of the library's decorator, and notes what is called."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[KernelCall] = []
        pypto.frontend.jit = self._recorder

    def trace(self, model: torch.nn.Module, request: TraceRequest) -> PyptoTrace:
        self._calls = []
        outputs = self.run(model, request)
        if not self._calls:
            raise Misuse("forward launches no kernel")
        return PyptoTrace(buffers=self.buffers, outputs=outputs, calls=self._calls)

    def _recorder(self, kernel: Callable[..., None]) -> Callable[..., None]:
        def note(*arguments: Any) -> None:
            taken = [self._argument(kernel.__name__, value) for value in arguments]
            self._calls.append(KernelCall(kernel.__name__, taken))

        return note

    def _argument(self, kernel: str, value: Any) -> Argument:
        if isinstance(value, torch.Tensor):
            if not value.is_contiguous():
                raise Misuse(f"{kernel} is given a tensor that is not contiguous")
            return Argument(tensor=self.place(value))
        if isinstance(value, bool | int | float):
            return Argument(number=value)
        raise Misuse(f"{kernel} takes tensors and numbers, not {value!r:.60}")
