"""The engine program: compiles traced kernels to HIVM and executes it.

It never sees the candidate's Python. Runs inside a sandbox, under the Python of the tool chain.
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from triton.backends.ascend import compiler as ascend
from triton.backends.compiler import GPUTarget

from kernelmill.backends.support.buffers import Buffers
from kernelmill.backends.support.launch_arguments import LaunchArgument
from kernelmill.backends.support.launch_engine import CompilerError, LaunchEngine, serve_engine
from kernelmill.backends.support.traced_session import EngineRunRequest
from kernelmill.backends.triton_ascend.hivm.machine import BuiltKernel, GlobalTensor, HivmMachine
from kernelmill.backends.triton_ascend.hivm.runtime import LIBRARY
from kernelmill.backends.triton_ascend.hivm.translate import translate_hivm
from kernelmill.backends.triton_ascend.protocol import (
    HivmRan,
    KernelLaunch,
    LaunchEstimate,
    TritonTrace,
)
from kernelmill.records.tensors import item_size
from kernelmill.sandbox.channel import Channel

_OPTIONS = (
    "--enable-auto-multi-buffer=true", "--enable-auto-bind-sub-block=true",
    "--enable-hfusion-compile=true", "--enable-hivm-compile=true",
    "--enable-triton-kernel-compile=true",
)  # fmt: skip
_MIX_MODE = re.compile(r'mix_mode = "\w*",? ?')
"""An attribute that the packaged compiler does not accept."""
_MAX_LOG_BYTES = 20_000


def run_hivm_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry. The first message carries the runtime library as its file."""
    library = Path(scratch) / LIBRARY
    with os.fdopen(channel.receive().files[0], "rb") as file:
        library.write_bytes(file.read())
    machine = HivmMachine(library, Path(scratch))
    channel.send({})
    serve_engine(channel, scratch, _Engine(arguments["chip"], Path(scratch), machine))


class _Engine(LaunchEngine[TritonTrace, HivmRan]):
    request_type = EngineRunRequest[TritonTrace]

    def __init__(self, chip: str, scratch: Path, machine: HivmMachine) -> None:
        self._chip = chip
        self._scratch = scratch
        self._machine = machine
        self._kernels: dict[str, BuiltKernel] = {}

    def launch(self, trace: TritonTrace, buffers: Buffers, timed: bool) -> HivmRan:
        kernels = [self._kernel(text) for text in trace.kernels]
        tensors = [GlobalTensor(f"tensor {i}", data) for i, data in enumerate(buffers.bytes)]
        launches = [_launch(kernels[one.kernel], one, tensors) for one in trace.launches]
        return HivmRan(launches=launches)

    def _kernel(self, text: str) -> BuiltKernel:
        if text not in self._kernels:
            self._kernels[text] = self._machine.build(translate_hivm(self._compile(text)))
        return self._kernels[text]

    def _compile(self, text: str) -> str:
        """Triton IR to HIVM, which is written before the compiler calls its closed back end."""
        folder = self._scratch / f"kernel{len(self._kernels)}"
        folder.mkdir(exist_ok=True)
        result = folder / "module.hivm.opt.mlir"
        result.unlink(missing_ok=True)
        source = folder / "kernel.mlir"
        source.write_text(_MIX_MODE.sub("", self._lowered(text)))
        command = [
            _compiler(), str(source), f"--target={self._chip}", *_OPTIONS,
            f"--save-temps={folder}", "-o", str(folder / "kernel"),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, cwd=folder)
        if not result.is_file():
            log = done.stderr[-_MAX_LOG_BYTES:].decode(errors="replace")
            raise CompilerError(f"exit code {done.returncode}\n{log}")
        return result.read_text()

    def _lowered(self, text: str) -> str:
        """Triton IR to the linalg dialect that the vendor's compiler accepts."""
        target = GPUTarget("npu", self._chip, 0)
        options = ascend.AscendBackend(target).parse_options({})
        metadata = {**options.__dict__, "target": target}
        try:
            return str(ascend.ttir_to_linalg(text, metadata, options, named_ops=True))
        except subprocess.CalledProcessError as error:
            log = error.stderr[-_MAX_LOG_BYTES:].decode(errors="replace")
            raise CompilerError(f"exit code {error.returncode}\n{log}") from error


def _compiler() -> str:
    spec = find_spec("ascendnpuir")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "bishengir-compile")


def _launch(
    built: BuiltKernel, launch: KernelLaunch, tensors: list[GlobalTensor]
) -> LaunchEstimate:
    kernel = built.kernel
    cost = built.launch(launch.grid, [_argument(one, tensors) for one in launch.arguments])
    return LaunchEstimate(
        kernel.name, cost.cycles, cost.bytes, cost.busy, cost.flags, cost.programs, kernel.core,
        kernel.local_bytes, kernel.doubled, cost.outside,
    )  # fmt: skip


def _argument(argument: LaunchArgument, tensors: list[GlobalTensor]) -> GlobalTensor | int | float:
    place = argument.tensor
    if place is None:
        return argument.number
    tensor = tensors[place.buffer]
    return tensor._replace(data=tensor.data[place.offset * item_size(place.dtype) :])
