"""Compiles kernels, has the vendor's interpreter execute them and its simulator count cycles.

Sees the kernels' text, and no other Python of the candidate's. Runs inside a cell, under the Python
of the tool chain.
"""

import ctypes
import importlib.util
import os
import re
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec
import torch
from pypto import pypto_impl
from pypto.frontend.parser import entry
from pypto.runtime import _pto_to_tensor_data, _pto_verify_datas

from kernelmill.backends.buffers import Buffers
from kernelmill.backends.pypto.protocol import Argument, CallUse, KernelCall, PyptoRan, PyptoTrace
from kernelmill.backends.traced_session import RunRequest
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.serving import Server
from kernelmill.tensors.blob import FILE_NAME

_HEAD = "import pypto\n\n\n"
_DECORATOR = (
    "@pypto.frontend.jit(runtime_options={'run_mode': pypto.RunMode.SIM}, "
    "verify_options={'enable_pass_verify': True})\n"
)
_CYCLES = re.compile(r"Total Cycles\.*:\s*(\d+)")
_FIGURE = re.compile(r"^\s*([A-Za-z][\w /%()-]*?)\.*:\s*([\d.]+)\s*(%?)\s*$", re.MULTILINE)
_REPORT = "output/*/CostModelSimulationOutput/_simulate.stat.report.txt"
_LOG = "log"
_TELLING = re.compile(r"ERROR|[Ee]rror|exceed|not support")
_NOISE = re.compile(r"Failed to open file|Errcode|^\s+(?:File |raise )")
_DIED = 3


class CompilerRefuses(Exception):
    """The message is the library's."""


def run_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry. File of the first message: the interpreter."""
    library = Path(scratch) / "calculator.so"
    with os.fdopen(channel.receive().files[0], "rb") as file:
        library.write_bytes(file.read())
    _feed_real_inputs(library)
    engine = _Engine(_kernels(arguments["kernels"], Path(scratch)), Path(scratch))
    channel.send({})
    server = Server(channel, Path(scratch))
    server.also("run", engine.run)
    server.serve()


def _feed_real_inputs(library: Path) -> None:
    """The library copies inputs from a device, which is not there: its verification would read
    zeros and pass anything. It is given the tensors of the call, and writes the outputs into them.
    """
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)

    def setup(tensors: Any) -> None:
        data = _pto_to_tensor_data(tensors)
        pypto_impl.SetVerifyData(data, [], _pto_verify_datas.get_data())

    entry.JitCallableWrapper._setup_verify_data = staticmethod(setup)


def _kernels(text: str, scratch: Path) -> dict[str, Any]:
    """The library reads the source of kernels from their file."""
    path = scratch / "kernels.py"
    path.write_text(_HEAD + re.sub(r"^def ", f"{_DECORATOR}def ", text, flags=re.MULTILINE))
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


class _Engine:
    def __init__(self, kernels: dict[str, Any], scratch: Path) -> None:
        self._kernels = kernels
        self._scratch = scratch
        self._runs = 0

    def run(self, message: Message) -> tuple[PyptoRan, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], RunRequest[PyptoTrace])
        trace = request.trace
        buffers = Buffers(message.files[0], request.layout, trace.buffers)
        uses = [self._apart(call, buffers) for call in trace.calls]
        ran = PyptoRan(uses=uses, mutated=buffers.mutated())
        file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        buffers.write(trace.outputs, file)
        buffers.close()
        return ran, (file,)

    def _apart(self, call: KernelCall, buffers: Buffers) -> CallUse:
        """In a process of its own: the library works once in one, and may end it."""
        self._runs += 1
        folder = self._scratch / f"run{self._runs}"
        folder.mkdir()
        child = os.fork()
        if child == 0:
            try:
                self._call(call, buffers, folder)
                os._exit(0)
            finally:
                os._exit(_DIED)
        _, status = os.waitpid(child, 0)
        try:
            reports = sorted(folder.glob(_REPORT))
            if os.waitstatus_to_exitcode(status) != 0 or not reports:
                said = _telling((folder / _LOG).read_text(errors="replace"))
                raise CompilerRefuses(said or "the library ended its process")
            return _use(call.kernel, reports[-1].read_text())
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _call(self, call: KernelCall, buffers: Buffers, folder: Path) -> None:
        """The simulator leaves its report in the current folder; C++ prints where Python does."""
        log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(folder)
        try:
            self._kernels[call.kernel](*(_value(one, buffers) for one in call.arguments))
        except Exception:  # the library raises whatever it likes
            traceback.print_exc()
            sys.stderr.flush()
            raise


def _telling(log: str) -> str:
    """The first lines that speak of errors: those behind them are consequences."""
    lines = [line[:300] for line in log.splitlines() if _TELLING.search(line)]
    return "\n".join(line for line in dict.fromkeys(lines) if not _NOISE.search(line))[:1800]


def _value(argument: Argument, buffers: Buffers) -> Any:
    place = argument.tensor
    if place is None:
        return argument.number
    raw = torch.from_numpy(buffers.bytes[place.buffer])
    whole = raw.view(getattr(torch, place.dtype))
    return whole.as_strided(place.shape, place.strides, place.offset)


def _use(kernel: str, report: str) -> CallUse:
    cycles = _CYCLES.search(report)
    if cycles is None:
        raise CompilerRefuses(f"the simulator does not say how long it took:\n{report[:500]}")
    figures = {
        name.strip(): float(value) / (100 if percent else 1)
        for name, value, percent in _FIGURE.findall(report)
    }
    return CallUse(kernel, int(cycles[1]), figures)
