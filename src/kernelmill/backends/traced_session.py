"""A kernel at work: one cell that traces its launches, one that compiles and executes them.

The second never sees the candidate's Python, so that what it says of outputs and cycles is not the
candidate's to say.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy.typing as npt

from kernelmill.backends.asking import InsideFailed, ask, ask_for_files, close_files
from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.launches import LoadRequest, Trace, TraceRequest, kinds_of
from kernelmill.backends.modelled import RunFailed, Session, check_outputs
from kernelmill.candidate import Candidate
from kernelmill.sandbox import Cell, CellProtocolError, Limits, Policy, Zygote
from kernelmill.sandbox.serving import Failed
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Layout, lay_out

_LIMITS = Limits(memory_bytes=8 << 30, processes=256)
_LOAD_SECONDS = 60.0


class Ran(msgspec.Struct, kw_only=True):
    """File: the outputs. A backend adds what it measured."""

    mutated: int | None = None
    """The first tensor of the call that a kernel wrote to."""


_Trace = TypeVar("_Trace", bound=Trace)
_Ran = TypeVar("_Ran", bound=Ran)


class Answer(NamedTuple, Generic[_Ran]):
    outputs: list[npt.NDArray[Any]]
    ran: _Ran


class TracedSession(Session, Generic[_Trace, _Ran]):
    """Sessions of backends whose kernels are launched from Python."""

    tracing: str
    """The program that traces: it loads the candidate, and answers `trace`."""
    engine: str
    """The program that answers `run`."""
    trace_kind: type[_Trace]
    ran_kind: type[_Ran]

    def __init__(
        self, candidate: Candidate, init: InitArguments, zygote: Zygote, facts: dict[str, Any]
    ) -> None:
        """`facts` are told to both programs. Raises CellFailure, or CandidateFailed."""
        self._known: dict[tuple[Kind, ...], _Trace] = {}
        self._cells: list[Cell] = []
        try:
            self._engine = self._open(self.engine, facts, zygote, may_execute=True)
            self.furnish(self._engine)
            self._tracer = self._open(self.tracing, facts, zygote, may_execute=False)
            self._load(candidate, init)
        except Exception:
            self.close()
            raise

    def furnish(self, engine: Cell) -> None:
        """Hand the engine what it needs before its first call."""

    @abstractmethod
    def trace_failure(self, failed: Failed) -> CandidateFailed:
        """What happened in forward, in words for the generator."""

    @abstractmethod
    def run_failure(self, failed: Failed) -> CandidateFailed:
        """What happened while compiling or executing."""

    def execute(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> list[npt.NDArray[Any]]:
        return self.run(arguments, outputs, seconds).outputs

    def run(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Answer[_Ran]:
        trace = self._trace(arguments, outputs, seconds)
        call = {"layout": arguments.tensors.layout, "trace": trace}
        body = {"do": "run", "call": msgspec.to_builtins(call)}
        try:
            ran, files = ask_for_files(
                self._engine, body, self.ran_kind, seconds, arguments.tensors.file
            )
        except InsideFailed as inside:
            raise self.run_failure(inside.failed) from inside
        if ran.mutated is not None:
            close_files(files)
            summary = f"a kernel writes to tensor {ran.mutated} of the call"
            raise RunFailed("mutation", summary, (), "write outputs only")
        return Answer(_arrays(files, outputs), ran)

    def close(self) -> None:
        for cell in self._cells:
            cell.close()

    def _open(self, entry: str, facts: dict[str, Any], zygote: Zygote, may_execute: bool) -> Cell:
        cell = zygote.spawn(entry, facts, Policy(limits=_LIMITS, may_execute=may_execute))
        self._cells.append(cell)
        return cell

    def _load(self, candidate: Candidate, init: InitArguments) -> None:
        request = LoadRequest(candidate.files, init.value, kinds_of(init.tensors.layout))
        try:
            ask(self._tracer, msgspec.to_builtins(request), dict, _LOAD_SECONDS)
        except InsideFailed as inside:
            raise self.trace_failure(inside.failed) from inside

    def _trace(self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float) -> _Trace:
        kinds = tuple(kinds_of(arguments.tensors.layout))
        if kinds not in self._known:
            request = TraceRequest(list(kinds), arguments.inputs, arguments.state)
            body = {"do": "trace", "call": msgspec.to_builtins(request)}
            try:
                trace = ask(self._tracer, body, self.trace_kind, seconds)
            except InsideFailed as inside:
                raise self.trace_failure(inside.failed) from inside
            _check(trace, len(kinds), outputs)
            self._known[kinds] = trace
        return self._known[kinds]


class RunRequest(msgspec.Struct, Generic[_Trace]):
    """File: the tensors of the call."""

    layout: Layout
    trace: _Trace


def _check(trace: Trace, given: int, outputs: Sequence[Kind]) -> None:
    """The form of what forward returned."""
    check_outputs([Kind(output.dtype, output.shape) for output in trace.outputs], outputs)
    if any(output.buffer < given for output in trace.outputs):
        hint = "allocate the output"
        raise RunFailed("aliasing", "an output shares memory with an input", (), hint)


def _arrays(files: list[int], outputs: Sequence[Kind]) -> list[npt.NDArray[Any]]:
    try:
        (file,) = files
        blob = Blob.received(file, lay_out([(kind.dtype, kind.shape) for kind in outputs]))
    except (OSError, ValueError) as error:
        raise CellProtocolError(f"outputs out of form: {error}") from error
    blob.close()
    return [blob.array(index) for index in range(len(outputs))]
