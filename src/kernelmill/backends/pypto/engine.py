"""The engine program: the vendor's interpreter executes kernels, its simulator counts cycles.

It gets the source of the kernels, and no other Python of the candidate. Runs inside a sandbox,
under the Python of the tool chain.
"""

import ctypes
import importlib.util
import os
import re
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pypto import pypto_impl
from pypto.config import CompStage
from pypto.frontend.parser import entry
from pypto.runtime import _pto_to_tensor_data, _pto_verify_datas

from kernelmill.backends.pypto.interpreter import copy_results
from kernelmill.backends.pypto.protocol import CallEstimate, KernelCall, PyptoRan, PyptoTrace
from kernelmill.backends.support.buffers import Buffers
from kernelmill.backends.support.launch_arguments import LaunchArgument
from kernelmill.backends.support.launch_engine import CompilerError, LaunchEngine, serve_engine
from kernelmill.backends.support.traced_session import EngineRunRequest
from kernelmill.sandbox.channel import Channel

_IMPORTS = "import pypto\n\n\n"
_DECORATOR = (
    "@pypto.frontend.jit(runtime_options={'run_mode': pypto.RunMode.SIM}, "
    "verify_options={'enable_pass_verify': True, 'pass_verify_pass_filter': []})\n"
)
"""The interpreter executes the graph of tensors. By default it would execute the graph anew after
each of six passes of the compiler, and only log where they differ: five times the work."""
_CYCLES = re.compile(r"Total Cycles\.*:\s*(\d+)")
_FIGURE = re.compile(r"^\s*([A-Za-z][\w /%()-]*?)\.*:\s*([\d.]+)\s*(%?)\s*$", re.MULTILINE)
_REPORT = "output/*/CostModelSimulationOutput/_simulate.stat.report.txt"
_LOG = "log"
_ERROR_LINE = re.compile(r"ERROR|[Ee]rror|exceed|not support")
_CODED = re.compile(r"Errcode: \w+!")
"""Stands in front of the library's own words, which follow on the next line."""
_NOISE = re.compile(r"Failed to open file|Errcode|^\s+(?:File |raise |self\.)")
_MAX_LOG = 1800
_MAX_WIDTH = 300
_EXIT_FAILED = 3
_ENDED = "the library ended its process"


def run_pypto_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry. The first message carries the interpreter's library as its file."""
    library = Path(scratch) / "calculator.so"
    with os.fdopen(channel.receive().files[0], "rb") as file:
        library.write_bytes(file.read())
    _use_host_tensors(library)
    _draw_nothing(Path(scratch) / "programs")
    engine = _Engine(_load_kernels(arguments["kernels"], Path(scratch)), Path(scratch))
    channel.send({})
    serve_engine(channel, scratch, engine)


def _use_host_tensors(library: Path) -> None:
    """Make the interpreter read and write the tensors of the call.

    By default it copies its inputs from a device. Without one it reads zeros and passes anything.
    """
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)

    def setup(tensors: Any) -> None:
        data = _pto_to_tensor_data(tensors)
        pypto_impl.SetVerifyData(data, [], _pto_verify_datas.get_data())

    entry.JitCallableWrapper._setup_verify_data = staticmethod(setup)


def _draw_nothing(folder: Path) -> None:
    """Let the simulator's `python3 draw_swim_lane.py` and its like do nothing.

    It starts three of them after each run, for pictures. They took more processor time than
    compiling and simulating a small kernel.
    """
    folder.mkdir()
    (folder / "python3").symlink_to(shutil.which("true") or "/bin/true")
    os.environ["PATH"] = f"{folder}:{os.environ.get('PATH', os.defpath)}"


def _load_kernels(source: str, scratch: Path) -> dict[str, Any]:
    """Imports the kernels from a file, because the library reads their source."""
    path = scratch / "kernels.py"
    path.write_text(_IMPORTS + re.sub(r"^def ", f"{_DECORATOR}def ", source, flags=re.MULTILINE))
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


class _Step(NamedTuple):
    call: KernelCall
    stage: CompStage
    """How far the library goes: it interprets, plans memory, or simulates, too."""


class _Engine(LaunchEngine[PyptoTrace, PyptoRan]):
    request_type = EngineRunRequest[PyptoTrace]

    def __init__(self, kernels: dict[str, Any], scratch: Path) -> None:
        self._kernels = kernels
        self._scratch = scratch
        self._runs = 0
        self._compiled: set[tuple[Any, ...]] = set()
        """Calls that the compiler has accepted, whatever the values of their tensors."""
        self._estimates: dict[tuple[Any, ...], CallEstimate] = {}
        """By what the cycles of a call depend on."""

    def launch(self, trace: PyptoTrace, buffers: Buffers, timed: bool) -> PyptoRan:
        if timed:
            return PyptoRan(calls=[self._estimate(call, buffers) for call in trace.calls])
        signatures = list(map(_signature, trace.calls))
        stages = (
            CompStage.TENSOR_GRAPH if known else CompStage.EXECUTE_GRAPH
            for known in map(self._compiled.__contains__, signatures)
        )  # fmt: skip
        with self._child(list(map(_Step, trace.calls, stages)), buffers):
            self._compiled.update(signatures)
        return PyptoRan()

    def _estimate(self, call: KernelCall, buffers: Buffers) -> CallEstimate:
        """Of floats nothing depends on values; whole numbers may be bounds of loops."""
        known = (*_signature(call), *_whole_numbers(call, buffers))
        if known not in self._estimates:
            self._estimates[known] = self._simulate(call, buffers)
        else:
            with self._child([_Step(call, CompStage.TENSOR_GRAPH)], buffers):
                pass
        return self._estimates[known]

    def _simulate(self, call: KernelCall, buffers: Buffers) -> CallEstimate:
        with self._child([_Step(call, CompStage.ALL_COMPLETE)], buffers) as folder:
            reports = sorted(folder.glob(_REPORT))
            if not reports:
                raise CompilerError(_errors(folder))
            return _estimate(call.kernel, reports[-1].read_text())

    @contextmanager
    def _child(self, steps: list[_Step], buffers: Buffers) -> Iterator[Path]:
        """Run steps in a forked process, which the library may end; gives its working directory."""
        self._runs += 1
        folder = self._scratch / f"run{self._runs}"
        folder.mkdir()
        child = os.fork()
        if child == 0:
            try:
                self._run(steps, buffers, folder)
                os._exit(0)
            finally:
                os._exit(_EXIT_FAILED)
        _, status = os.waitpid(child, 0)
        try:
            if os.waitstatus_to_exitcode(status) != 0:
                raise CompilerError(_errors(folder))
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, steps: list[_Step], buffers: Buffers, folder: Path) -> None:
        """The simulator writes its report to the working directory. The C++ part logs to stdout.

        The log is that of the last step.
        """
        log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(folder)
        try:
            for step in steps:
                os.ftruncate(log, 0)
                self._call(step, buffers)
        except Exception:  # the library may raise anything
            traceback.print_exc()
            sys.stderr.flush()
            raise

    def _call(self, step: _Step, buffers: Buffers) -> None:
        kernel = self._kernels[step.call.kernel]
        kernel._host_options = {"compile_stage": step.stage}
        values = [_value(value, buffers) for value in step.call.arguments]
        kernel(*values)
        if step.stage is not CompStage.ALL_COMPLETE:
            copy_results([v for v in values if isinstance(v, torch.Tensor)])


def _errors(folder: Path) -> str:
    return _error_lines((folder / _LOG).read_text(errors="replace")) or _ENDED


def _error_lines(log: str) -> str:
    """The first error lines: later ones are consequences."""
    every = log.splitlines()
    coded = [line for before, line in pairwise(every) if _CODED.search(before)]
    lines = [line[:_MAX_WIDTH] for line in (*coded, *filter(_ERROR_LINE.search, every))]
    return "\n".join(line for line in dict.fromkeys(lines) if not _NOISE.search(line))[:_MAX_LOG]


def _signature(call: KernelCall) -> tuple[Any, ...]:
    """What the compiler knows of a call."""
    places = ((one.tensor, one) for one in call.arguments)
    known = ((p.dtype, p.shape) if p else (one.whole, one.real) for p, one in places)
    return (call.kernel, *known)


def _whole_numbers(call: KernelCall, buffers: Buffers) -> Iterator[bytes]:
    """What its tensors of whole numbers hold."""
    for argument in call.arguments:
        if argument.tensor is not None and "int" in argument.tensor.dtype:
            yield buffers.array(argument.tensor).tobytes()


def _value(argument: LaunchArgument, buffers: Buffers) -> Any:
    place = argument.tensor
    if place is None:
        return argument.number
    raw = torch.from_numpy(buffers.bytes[place.buffer])
    whole = raw.view(getattr(torch, place.dtype))
    return whole.as_strided(place.shape, place.strides, place.offset)


def _estimate(kernel: str, report: str) -> CallEstimate:
    cycles = _CYCLES.search(report)
    if cycles is None:
        raise CompilerError(f"the simulator's report has no cycle count:\n{report[:500]}")
    figures = {
        name.strip(): float(value) / (100 if percent else 1)
        for name, value, percent in _FIGURE.findall(report)
    }
    return CallEstimate(kernel, int(cycles[1]), figures)
