"""A kernel at work: one cell that traces it, and one that executes and compiles what was traced.

The second never sees the candidate's Python, so that what it says of outputs and cycles is not the
candidate's to say. Both see the same traced function: there is no other for the compiler.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.asking import InsideFailed, ask, ask_for_files, close_files
from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import Estimate, RunFailed, Session, check_outputs
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.diagnostics import (
    compile_failure,
    crash_failure,
    run_failure,
    trace_failure,
)
from kernelmill.backends.pallas.modelling import model
from kernelmill.backends.pallas.protocol import (
    Compiled,
    LoadRequest,
    Ran,
    RunRequest,
    Taken,
    TraceRequest,
)
from kernelmill.candidate import Candidate
from kernelmill.sandbox import (
    CellCrashed,
    CellFailure,
    CellLimitExceeded,
    CellProtocolError,
    CellTimeout,
    Limits,
    Policy,
    Zygote,
)
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Layout, Node

TRACING = "kernelmill.backends.pallas.tracing"
ENGINE = "kernelmill.backends.pallas.engine"
_POLICY = Policy(limits=Limits(memory_bytes=8 << 30, processes=512))
_LOAD_SECONDS = 60.0
_WATCHED_STEPS = 64
"""Grids of more steps are not searched for races: it would take minutes. Hidden shapes are smaller,
so that most kernels are searched in some trial."""
_WIDENED = {"int32": "int64", "float32": "float64"}


class Signature(NamedTuple):
    """What a call is traced for."""

    tensors: tuple[Kind, ...]
    inputs: Node


class _Held(NamedTuple):
    """A function that the engine holds."""

    number: int
    signature: Signature
    taken: Taken


class TracedSession(Session):
    """Whatever can be traced for given shapes, executed and modelled."""

    examined = True
    """Whether it must be made of kernels, and compile for every shape it is executed with."""
    compile_seconds = 90.0

    def __init__(self, chip: str, zygote: Zygote) -> None:
        """`zygote` is the tool chain's own. Raises CellFailure."""
        self._chip = chip
        self._zygote = zygote
        self._start_engine(profiled=True)

    def _start_engine(self, profiled: bool) -> None:
        """Without a profile it tells what is moved, and no cycles."""
        arguments = {"chip": self._chip, "profiled": profiled}
        self._engine = self._zygote.spawn(f"{ENGINE}:run_engine", arguments, _POLICY)
        self._held: dict[Signature, _Held] = {}
        self._compiled: dict[int, Compiled] = {}

    @abstractmethod
    def _bring(self, number: int, arguments: CallArguments, seconds: float) -> Taken:
        """Give the engine the function for these shapes under a number. Raises CandidateFailed."""

    def execute(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> list[npt.NDArray[Any]]:
        held = self._prepare(arguments, seconds)
        check_outputs(held.taken.outputs, outputs, _WIDENED)
        if self.examined:
            self._compile(held)
        races = self.examined and held.taken.steps <= _WATCHED_STEPS
        request = RunRequest(arguments.tensors.layout, races)
        body = {"do": "run", "number": held.number, "call": msgspec.to_builtins(request)}
        try:
            ran, files = ask_for_files(self._engine, body, Ran, seconds, arguments.tensors.file)
        except InsideFailed as inside:
            raise run_failure(inside.failed) from inside
        if ran.race:
            close_files(files)
            raise RunFailed(
                "race", "two accesses of the same memory are not ordered", (),
                "wait for a copy before its buffer is used, and before it is used again",
            )  # fmt: skip
        return _outputs(ran.layout, files, outputs)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        compiled = self._compile(self._prepare(arguments, seconds))
        return model(compiled, CHIPS[self._chip])

    def close(self) -> None:
        self._engine.close()

    def _prepare(self, arguments: CallArguments, seconds: float) -> _Held:
        """Have the function for these shapes in the engine."""
        tensors = arguments.tensors.layout.tensors
        signature = Signature(tuple(Kind(t.dtype, t.shape) for t in tensors), arguments.inputs)
        if signature not in self._held:
            number = len(self._held)
            taken = self._bring(number, arguments, seconds)
            self._held[signature] = _Held(number, signature, taken)
        return self._held[signature]

    def _compile(self, held: _Held) -> Compiled:
        if held.number not in self._compiled:
            self._compiled[held.number] = self._compile_now(held.number)
        return self._compiled[held.number]

    def _compile_now(self, number: int) -> Compiled:
        try:
            return ask(
                self._engine, {"do": "compile", "number": number}, Compiled, self.compile_seconds
            )
        except InsideFailed as inside:
            raise compile_failure(inside.failed) from inside
        except CellTimeout as failure:
            raise BuildFailed(
                "time-out", f"not compiled within {failure.seconds:.0f} s", (),
                "smaller blocks or shorter unrolled loops: code grows with the block",
            ) from failure  # fmt: skip
        except CellLimitExceeded as failure:
            raise BuildFailed("limit", f"the compiler went {failure}", ()) from failure
        except CellCrashed as failure:
            raise crash_failure(failure, self._engine.log()) from failure


class CandidateSession(TracedSession):
    def __init__(
        self, chip: str, candidate: Candidate, init: InitArguments, zygote: Zygote
    ) -> None:
        """Raises CellFailure, or BuildFailed where it does not load."""
        self._tracer = zygote.spawn(f"{TRACING}:trace_candidate", {"chip": chip}, _POLICY)
        try:
            self._load(candidate, init)
            super().__init__(chip, zygote)
        except (CellFailure, BuildFailed):
            self._tracer.close()
            raise

    def close(self) -> None:
        self._tracer.close()
        super().close()

    def _load(self, candidate: Candidate, init: InitArguments) -> None:
        request = LoadRequest(candidate.files, init.value, init.tensors.layout)
        body = msgspec.to_builtins(request)
        try:
            ask(self._tracer, body, dict, _LOAD_SECONDS, init.tensors.file)
        except InsideFailed as inside:
            raise trace_failure(inside.failed) from inside

    def _bring(self, number: int, arguments: CallArguments, seconds: float) -> Taken:
        file = self._trace(arguments, seconds)
        body = {"do": "take", "number": number}
        try:
            taken = ask(self._engine, body, Taken, _LOAD_SECONDS, file)
        except InsideFailed as inside:
            raise RunFailed("no-kernel", inside.failed.message, ()) from inside
        finally:
            os.close(file)
        if taken.objection is not None:
            what, instead = taken.objection
            raise RunFailed("framework-compute", what, (), instead)
        return taken

    def _trace(self, arguments: CallArguments, seconds: float) -> int:
        """A file with the traced function, packed."""
        tensors = [Kind(t.dtype, t.shape) for t in arguments.tensors.layout.tensors]
        request = TraceRequest(tensors, arguments.inputs, arguments.state)
        body = {"do": "trace", "call": msgspec.to_builtins(request)}
        try:
            _, files = ask_for_files(self._tracer, body, dict, seconds)
        except InsideFailed as inside:
            raise trace_failure(inside.failed) from inside
        if len(files) != 1:
            close_files(files)
            raise CellProtocolError("a trace without its file")
        return files[0]


def _outputs(layout: Layout, files: list[int], wanted: Sequence[Kind]) -> list[npt.NDArray[Any]]:
    """In the reference's types, where the chip has only shorter ones."""
    if len(files) != 1 or len(layout.tensors) != len(wanted):
        close_files(files)
        raise CellProtocolError("outputs without their file")
    try:
        blob = Blob.received(files[0], layout)
    except OSError as error:
        raise CellProtocolError(f"outputs out of form: {error}") from error
    arrays = []
    for index, kind in enumerate(wanted):
        array = blob.array(index)
        if layout.tensors[index].dtype != kind.dtype:
            array = array.astype(kind.dtype)
        arrays.append(array)
    blob.close()
    return arrays
