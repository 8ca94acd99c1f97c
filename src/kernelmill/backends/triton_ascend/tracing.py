"""The tracing program: records the launches of forward, with the Triton IR of each kernel.

Runs inside a sandbox, under the Python of the tool chain.
"""

import math
import os
from typing import Any

import torch
from triton._C.libtriton import ir
from triton.backends.ascend import compiler as ascend
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from kernelmill.backends.support.launch_log import CallTraceRequest
from kernelmill.backends.support.launch_tracer import LaunchTracer
from kernelmill.backends.support.meta_trace import ForbiddenCall, serve_traces
from kernelmill.backends.triton_ascend.protocol import KernelLaunch, TritonTrace
from kernelmill.sandbox.channel import Channel

_TYPES = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.bool: "i1",
    torch.uint8: "u8",
}  # fmt: skip
_LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "multibuffer")
"""Keywords of a launch that are not parameters of the kernel."""
_LARGEST_INT32 = 2**31 - 1


def trace_triton_launches(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    os.environ["TRITON_CACHE_DIR"] = f"{scratch}/triton"
    serve_traces(channel, scratch, _LaunchTracer(arguments["chip"]))


class _LaunchTracer(LaunchTracer[KernelLaunch]):
    """Replaces Triton's launcher."""

    def __init__(self, chip: str) -> None:
        super().__init__()
        self._lowering = _Lowering(chip)
        self._kernels: list[str] = []

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> None:
            self._launch(kernel, arguments, grid, named)

        JITFunction.run = run

    def trace(self, model: torch.nn.Module, request: CallTraceRequest) -> TritonTrace:
        self._kernels = []
        outputs = self.record(model, request)
        return TritonTrace(
            buffers=self.buffers, outputs=outputs, kernels=self._kernels, launches=self.launches
        )

    def _launch(
        self, kernel: Any, arguments: tuple[Any, ...], grid: Any, named: dict[str, Any]
    ) -> None:
        named = {name: value for name, value in named.items() if name not in _LAUNCH_OPTIONS}
        bound = kernel.signature.bind(*arguments, **named)
        bound.apply_defaults()
        constants = {
            parameter.name: bound.arguments[parameter.name]
            for parameter in kernel.params
            if parameter.is_constexpr
        }
        given = {name: v for name, v in bound.arguments.items() if name not in constants}
        sizes = grid(dict(bound.arguments)) if callable(grid) else grid
        x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
        if min(x, y, z) < 1:
            raise ForbiddenCall(
                f"{kernel.__name__} is launched on a grid of {x} x {y} x {z} programs"
            )
        values = [self.argument(kernel.__name__, value) for value in given.values()]
        signature = {name: _signature(value) for name, value in given.items()}
        text = self._lowering.lower(kernel, signature, constants)
        if text not in self._kernels:
            self._kernels.append(text)
        self.launches.append(KernelLaunch(self._kernels.index(text), (x, y, z), values))


def _signature(value: torch.Tensor | float) -> str:
    if isinstance(value, torch.Tensor):
        return f"*{_TYPES[value.dtype]}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if abs(value) <= _LARGEST_INT32 else "i64"
    if math.isnan(value):
        raise ForbiddenCall("a kernel takes tensors and numbers, not NaN")
    return "fp32"


class _Lowering:
    """Lowering of a kernel from Python to Triton IR."""

    def __init__(self, chip: str) -> None:
        self._target = GPUTarget("npu", chip, 0)
        self._backend = ascend.AscendBackend(self._target)
        self._options = self._backend.parse_options({})

    def lower(self, kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> str:
        source = ASTSource(kernel, signature=signature, constants=constants)
        context = ir.context()
        ir.load_dialects(context)
        self._backend.load_dialects(context)
        generation = self._backend.get_codegen_implementation()
        module = source.make_ir(self._options, generation, {}, context)
        metadata = {**self._options.__dict__, "target": self._target}
        return str(ascend.make_ttir(module, metadata, self._options))
