"""Compiles what a candidate traced, to HIVM, and executes that. Sees no Python of the candidate's.

Runs inside a cell, under the Python of the tool chain.
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from triton.backends.ascend import compiler as ascend
from triton.backends.compiler import GPUTarget

from kernelmill.backends.buffers import Buffers
from kernelmill.backends.traced_session import RunRequest
from kernelmill.backends.triton_ascend.hivm.machine import launch
from kernelmill.backends.triton_ascend.hivm.memory import Memory
from kernelmill.backends.triton_ascend.hivm.translate import Program, translate
from kernelmill.backends.triton_ascend.protocol import (
    Argument,
    HivmRan,
    KernelLaunch,
    LaunchUse,
    TritonTrace,
)
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.serving import Server
from kernelmill.tensors.blob import FILE_NAME

_OPTIONS = (
    "--enable-auto-multi-buffer=true", "--enable-auto-bind-sub-block=true",
    "--enable-hfusion-compile=true", "--enable-hivm-compile=true",
    "--enable-triton-kernel-compile=true",
)  # fmt: skip
_MIX_MODE = re.compile(r'mix_mode = "\w*",? ?')
"""An attribute that the packaged compiler does not take."""
_MOST_LOG = 20_000


class CompilerRefuses(Exception):
    """The message is the vendor's compiler's."""


def run_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    engine = _Engine(arguments["chip"], Path(scratch))
    server = Server(channel, Path(scratch))
    server.also("run", engine.run)
    server.serve()


class _Engine:
    def __init__(self, chip: str, scratch: Path) -> None:
        self._chip = chip
        self._scratch = scratch
        self._programs: dict[str, Program] = {}

    def run(self, message: Message) -> tuple[HivmRan, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], RunRequest[TritonTrace])
        trace = request.trace
        programs = [self._program(text) for text in trace.kernels]
        buffers = Buffers(message.files[0], request.layout, trace.buffers)
        memories = [Memory(f"tensor {i}", data) for i, data in enumerate(buffers.bytes)]
        uses = [_use(programs[one.kernel], one, memories) for one in trace.launches]
        ran = HivmRan(uses=uses, mutated=buffers.mutated())
        file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        buffers.write(trace.outputs, file)
        buffers.close()
        return ran, (file,)

    def _program(self, text: str) -> Program:
        if text not in self._programs:
            self._programs[text] = translate(self._compile(text))
        return self._programs[text]

    def _compile(self, text: str) -> str:
        """To HIVM, which is written before the compiler looks for its closed second half."""
        folder = self._scratch / f"kernel{len(self._programs)}"
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
            log = done.stderr[-_MOST_LOG:].decode(errors="replace")
            raise CompilerRefuses(f"exit code {done.returncode}\n{log}")
        return result.read_text()

    def _lowered(self, text: str) -> str:
        """From Triton's form to the one that the compiler takes."""
        target = GPUTarget("npu", self._chip, 0)
        options = ascend.AscendBackend(target).parse_options({})
        metadata = {**options.__dict__, "target": target}
        try:
            return str(ascend.ttir_to_linalg(text, metadata, options, named_ops=True))
        except subprocess.CalledProcessError as error:
            log = error.stderr[-_MOST_LOG:].decode(errors="replace")
            raise CompilerRefuses(f"exit code {error.returncode}\n{log}") from error


def _compiler() -> str:
    spec = find_spec("ascendnpuir")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "bishengir-compile")


def _use(program: Program, one: KernelLaunch, buffers: list[Memory]) -> LaunchUse:
    own = [p for p in program.parameters if p.role in ("tensor", "scalar")]
    arguments = [
        _argument(argument, parameter.dtype, buffers)
        for argument, parameter in zip(one.arguments, own, strict=True)
    ]
    took = launch(program, one.grid, arguments)
    return LaunchUse(
        program.name, took.cycles, took.bytes, took.busy, took.flags, took.programs, program.core,
        program.local_bytes, program.doubled,
    )  # fmt: skip


def _argument(argument: Argument, dtype: str, buffers: list[Memory]) -> Any:
    if argument.buffer is None:
        return (
            np.float32(argument.number) if isinstance(argument.number, float) else argument.number
        )
    memory = buffers[argument.buffer]
    if not argument.offset:
        return memory
    size = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}.get(dtype, 1)
    return Memory(memory.name, memory.data[argument.offset * size :])
