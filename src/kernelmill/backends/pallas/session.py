"""Sessions of the pallas backend: a tracing sandbox, and an engine that runs what was traced.

The engine never sees the candidate's Python, so the candidate cannot forge outputs or cycles. It
interprets and compiles the same traced function.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import Estimate, RunFailed, Session, check_outputs
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.cost_model import estimate_call
from kernelmill.backends.pallas.diagnostics import (
    compile_failure,
    crash_failure,
    interpreter_failure,
    trace_failure,
)
from kernelmill.backends.pallas.protocol import (
    CompiledKernel,
    FunctionSummary,
    Interpreted,
    InterpretRequest,
    PallasLoadRequest,
)
from kernelmill.backends.support.launch_log import CallTraceRequest, tensor_specs_of
from kernelmill.backends.support.rpc import InsideFailed, ask, ask_for_files
from kernelmill.backends.support.toolchain_zygote import SandboxPrograms
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Layout, Node
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    SandboxCrashed,
    SandboxFailure,
    SandboxLimitExceeded,
    SandboxProtocolError,
    SandboxTimeout,
    Zygote,
)
from kernelmill.sandbox.channel import close_files
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob

_POLICY = Policy(limits=ResourceLimits(memory_bytes=8 << 30, processes=512))
_LOAD_SECONDS = 60.0
_MAX_STEPS_WITH_RACE_DETECTION = 64
"""Race detection in larger grids would take minutes. Hidden shapes are small, so most kernels are
searched for races in some trial."""
_WIDENED = {"int32": "int64", "float32": "float64"}


class Signature(NamedTuple):
    """The types and shapes that a function is traced for."""

    tensors: tuple[TensorSpec, ...]
    inputs: Node


class _LoadedFunction(NamedTuple):
    """A function that the engine has loaded."""

    number: int
    signature: Signature
    summary: FunctionSummary


class JaxprSession(Session):
    """Interprets and models a function that is traced to a jaxpr once per signature."""

    programs = SandboxPrograms(
        "kernelmill.backends.pallas.tracing:trace_to_jaxpr",
        "kernelmill.backends.pallas.engine:run_jax_engine",
    )
    checks_kernels = True
    """Whether every executed shape is compiled too, and searched for races."""
    compile_seconds = 90.0

    def __init__(self, chip: str, zygote: Zygote) -> None:
        """`zygote` is that of the tool chain. Raises SandboxFailure."""
        self._chip = chip
        self._zygote = zygote
        self._start_engine(profiled=True)

    def _start_engine(self, profiled: bool) -> None:
        """`profiled`: whether the engine reports cycles, or only the bytes moved."""
        arguments = {"chip": self._chip, "profiled": profiled}
        self._engine = self._zygote.spawn(self.programs.engine, arguments, _POLICY)
        self._functions: dict[Signature, _LoadedFunction] = {}
        self._compiled: dict[int, CompiledKernel] = {}

    @abstractmethod
    def _load_function(
        self, number: int, arguments: CallArguments, seconds: float
    ) -> FunctionSummary:
        """Load the function for these shapes into the engine. Raises CandidateFailed."""

    def execute(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> list[npt.NDArray[Any]]:
        function = self._function_for(arguments, seconds)
        check_outputs(function.summary.outputs, outputs, _WIDENED)
        detect_races = False
        if self.checks_kernels:
            self._compile(function)
            detect_races = function.summary.steps <= _MAX_STEPS_WITH_RACE_DETECTION
        request = InterpretRequest(arguments.tensors.layout, detect_races)
        body = {"do": "interpret", "number": function.number, "call": msgspec.to_builtins(request)}
        try:
            result, files = ask_for_files(
                self._engine, body, Interpreted, seconds, arguments.tensors.file
            )
        except InsideFailed as inside:
            raise interpreter_failure(inside.failed) from inside
        if result.race:
            close_files(files)
            raise RunFailed(
                "race", "two accesses of the same memory are not ordered", (),
                "wait for a copy before its buffer is used, and before it is used again",
            )  # fmt: skip
        return _outputs(result.layout, files, outputs)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        compiled = self._compile(self._function_for(arguments, seconds))
        return estimate_call(compiled, CHIPS[self._chip])

    def close(self) -> None:
        self._engine.close()

    def _function_for(self, arguments: CallArguments, seconds: float) -> _LoadedFunction:
        """The function for these shapes, which is loaded on first use."""
        specs = tensor_specs_of(arguments.tensors.layout)
        signature = Signature(tuple(specs), arguments.inputs)
        if signature not in self._functions:
            number = len(self._functions)
            summary = self._load_function(number, arguments, seconds)
            self._functions[signature] = _LoadedFunction(number, signature, summary)
        return self._functions[signature]

    def _compile(self, function: _LoadedFunction) -> CompiledKernel:
        if function.number not in self._compiled:
            self._compiled[function.number] = self._compile_now(function.number)
        return self._compiled[function.number]

    def _compile_now(self, number: int) -> CompiledKernel:
        try:
            return ask(
                self._engine,
                {"do": "compile", "number": number},
                CompiledKernel,
                self.compile_seconds,
            )
        except InsideFailed as inside:
            raise compile_failure(inside.failed) from inside
        except SandboxTimeout as failure:
            raise BuildFailed(
                "time-out", f"not compiled within {failure.seconds:.0f} s", (),
                "smaller blocks or shorter unrolled loops: code grows with the block",
            ) from failure  # fmt: skip
        except SandboxLimitExceeded as failure:
            raise BuildFailed("limit", f"the compiler went {failure}", ()) from failure
        except SandboxCrashed as failure:
            raise crash_failure(failure, self._engine.log()) from failure


class CandidateSession(JaxprSession):
    def __init__(
        self, chip: str, candidate: Candidate, init: InitArguments, zygote: Zygote
    ) -> None:
        """Raises SandboxFailure, or BuildFailed where the candidate does not load."""
        self._tracer = zygote.spawn(self.programs.tracing, {"chip": chip}, _POLICY)
        try:
            self._load(candidate, init)
            super().__init__(chip, zygote)
        except (SandboxFailure, BuildFailed):
            self._tracer.close()
            raise

    def close(self) -> None:
        self._tracer.close()
        super().close()

    def _load(self, candidate: Candidate, init: InitArguments) -> None:
        request = PallasLoadRequest(candidate.files, init.value, init.tensors.layout)
        body = msgspec.to_builtins(request)
        try:
            ask(self._tracer, body, dict, _LOAD_SECONDS, init.tensors.file)
        except InsideFailed as inside:
            raise trace_failure(inside.failed) from inside

    def _load_function(
        self, number: int, arguments: CallArguments, seconds: float
    ) -> FunctionSummary:
        file = self._trace(arguments, seconds)
        body = {"do": "load", "number": number}
        try:
            summary = ask(self._engine, body, FunctionSummary, _LOAD_SECONDS, file)
        except InsideFailed as inside:
            raise RunFailed("no-kernel", inside.failed.message, ()) from inside
        finally:
            os.close(file)
        if summary.objection is not None:
            what, instead = summary.objection
            raise RunFailed("framework-compute", what, (), instead)
        return summary

    def _trace(self, arguments: CallArguments, seconds: float) -> int:
        """A file with the serialized jaxpr."""
        specs = tensor_specs_of(arguments.tensors.layout)
        request = CallTraceRequest(specs, arguments.inputs, arguments.state)
        body = {"do": "trace", "call": msgspec.to_builtins(request)}
        try:
            _, files = ask_for_files(self._tracer, body, dict, seconds)
        except InsideFailed as inside:
            raise trace_failure(inside.failed) from inside
        if len(files) != 1:
            close_files(files)
            raise SandboxProtocolError("the tracing program sent no trace")
        return files[0]


def _outputs(
    layout: Layout, files: list[int], wanted: Sequence[TensorSpec]
) -> list[npt.NDArray[Any]]:
    """The outputs in the types of the reference, where the chip has only narrower ones."""
    if len(files) != 1 or len(layout.tensors) != len(wanted):
        close_files(files)
        raise SandboxProtocolError("the engine sent no outputs, or too few")
    try:
        blob = Blob.received(files[0], layout)
    except OSError as error:
        raise SandboxProtocolError(f"the engine sent malformed outputs: {error}") from error
    arrays = []
    for index, spec in enumerate(wanted):
        array = blob.array(index)
        if layout.tensors[index].dtype != spec.dtype:
            array = array.astype(spec.dtype)
        arrays.append(array)
    blob.close()
    return arrays
