"""Sessions in two sandboxes: one traces a candidate's launches, one compiles and executes them.

The second never runs the candidate's Python, so the candidate cannot forge outputs or cycles.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy.typing as npt

from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import RunFailed, Session, check_outputs
from kernelmill.backends.support.launch_failures import forward_failure
from kernelmill.backends.support.launch_log import (
    CallTraceRequest,
    Trace,
    TracerLoadRequest,
    tensor_specs_of,
)
from kernelmill.backends.support.rpc import InsideFailed, ask, ask_for_files
from kernelmill.backends.support.toolchain_zygote import SandboxPrograms
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Layout, lay_out
from kernelmill.sandbox import Policy, ResourceLimits, Sandbox, SandboxProtocolError, Zygote
from kernelmill.sandbox.channel import close_files
from kernelmill.sandbox.serving import ProgramFailed
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob

_LIMITS = ResourceLimits(memory_bytes=8 << 30, processes=256)
_LOAD_SECONDS = 60.0


class EngineReport(msgspec.Struct, kw_only=True):
    """The engine's answer to a run, with a file of outputs. A backend adds what it measured."""

    mutated: int | None = None
    """Index of the first tensor of the call that a kernel wrote to."""


_Trace = TypeVar("_Trace", bound=Trace)
_Report = TypeVar("_Report", bound=EngineReport)


class TracedRun(NamedTuple, Generic[_Report]):
    outputs: list[npt.NDArray[Any]]
    report: _Report


class _LastRun(NamedTuple, Generic[_Report]):
    tensors: Blob
    report: _Report


class TracedSession(Session, Generic[_Trace, _Report]):
    """A session of a backend whose kernels are launched from Python."""

    programs: SandboxPrograms
    trace_type: type[_Trace]
    report_type: type[_Report]

    def __init__(
        self, candidate: Candidate, init: InitArguments, zygote: Zygote, facts: dict[str, Any]
    ) -> None:
        """Both programs get `facts` as arguments. Raises SandboxFailure or CandidateFailed."""
        self._traces: dict[tuple[TensorSpec, ...], _Trace] = {}
        self._last: _LastRun[_Report] | None = None
        self._sandboxes: list[Sandbox] = []
        try:
            self._engine = self._open(self.programs.engine, facts, zygote, may_execute=True)
            self.prepare_engine(self._engine)
            self._tracer = self._open(self.programs.tracing, facts, zygote, may_execute=False)
            self._load(candidate, init)
        except Exception:
            self.close()
            raise

    def prepare_engine(self, engine: Sandbox) -> None:
        """Send the engine what it needs before its first call."""

    def trace_failure(self, failed: ProgramFailed) -> CandidateFailed:
        """A failure of forward, in words for the generator."""
        return forward_failure(failed)

    @abstractmethod
    def run_failure(self, failed: ProgramFailed) -> CandidateFailed:
        """The failure of compiling or executing, in words for the generator."""

    def execute(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> list[npt.NDArray[Any]]:
        return self.run(arguments, outputs, seconds).outputs

    def run(
        self,
        arguments: CallArguments,
        outputs: Sequence[TensorSpec],
        seconds: float,
        timed: bool = False,
    ) -> TracedRun[_Report]:
        """`timed` runs are for the report, where a backend's other runs report nothing."""
        trace = self._trace(arguments, outputs, seconds)
        call = {"layout": arguments.tensors.layout, "trace": trace, "timed": timed}
        body = {"do": "run", "call": msgspec.to_builtins(call)}
        try:
            report, files = ask_for_files(
                self._engine, body, self.report_type, seconds, arguments.tensors.file
            )
        except InsideFailed as inside:
            raise self.run_failure(inside.failed) from inside
        if report.mutated is not None:
            close_files(files)
            summary = f"a kernel writes to tensor {report.mutated} of the call"
            raise RunFailed("mutation", summary, (), "write outputs only")
        self._last = _LastRun(arguments.tensors, report)
        return TracedRun(_arrays(files, outputs), report)

    def report(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> _Report:
        """The engine's report on a call: of the last run, if that had the same tensors."""
        if self._last is not None and self._last.tensors is arguments.tensors:
            return self._last.report
        return self.run(arguments, outputs, seconds).report

    def close(self) -> None:
        for sandbox in self._sandboxes:
            sandbox.close()

    def _open(
        self, entry: str, facts: dict[str, Any], zygote: Zygote, may_execute: bool
    ) -> Sandbox:
        sandbox = zygote.spawn(entry, facts, Policy(limits=_LIMITS, may_execute=may_execute))
        self._sandboxes.append(sandbox)
        return sandbox

    def _load(self, candidate: Candidate, init: InitArguments) -> None:
        request = TracerLoadRequest(
            candidate.files, init.value, tensor_specs_of(init.tensors.layout)
        )
        try:
            ask(self._tracer, msgspec.to_builtins(request), dict, _LOAD_SECONDS)
        except InsideFailed as inside:
            raise self.trace_failure(inside.failed) from inside

    def _trace(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> _Trace:
        specs = tuple(tensor_specs_of(arguments.tensors.layout))
        if specs not in self._traces:
            request = CallTraceRequest(list(specs), arguments.inputs, arguments.state)
            body = {"do": "trace", "call": msgspec.to_builtins(request)}
            try:
                trace = ask(self._tracer, body, self.trace_type, seconds)
            except InsideFailed as inside:
                raise self.trace_failure(inside.failed) from inside
            _check(trace, len(specs), outputs)
            self._traces[specs] = trace
        return self._traces[specs]


class EngineRunRequest(msgspec.Struct, Generic[_Trace]):
    """Execute a trace on the tensors of a call, which come as a file."""

    layout: Layout
    trace: _Trace
    timed: bool
    """Whether the report is wanted, too."""


def _check(trace: Trace, given: int, outputs: Sequence[TensorSpec]) -> None:
    """Raise RunFailed unless forward returned new tensors of the reference's shapes and types."""
    check_outputs([TensorSpec(output.dtype, output.shape) for output in trace.outputs], outputs)
    if any(output.buffer < given for output in trace.outputs):
        hint = "allocate the output"
        raise RunFailed("aliasing", "an output shares memory with an input", (), hint)


def _arrays(files: list[int], outputs: Sequence[TensorSpec]) -> list[npt.NDArray[Any]]:
    try:
        (file,) = files
        blob = Blob.received(file, lay_out([(spec.dtype, spec.shape) for spec in outputs]))
    except (OSError, ValueError) as error:
        raise SandboxProtocolError(f"malformed outputs: {error}") from error
    blob.close()
    return [blob.array(index) for index in range(len(outputs))]
