"""Sessions of built kernels in the emulator."""

import os
import signal
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.modelled import Estimate, RunFailed, Session
from kernelmill.backends.rvv.calling import MAX_RANK, MAX_TENSORS, EmulatedCall
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import lay_out
from kernelmill.sandbox import Policy, ResourceLimits, Sandbox, SandboxProtocolError, Zygote
from kernelmill.tensors.arguments import CallArguments
from kernelmill.tensors.blob import Blob, memory_file

RVV_PROGRAMS = "kernelmill.backends.rvv.programs"
_POLICY = Policy(limits=ResourceLimits(memory_bytes=4 << 30, processes=16), may_execute=True)
_SECONDS = 30.0
RVV_CLOCK_HERTZ = 1e9
"""Turns modelled cycles into seconds."""
_SYSTEM_CALLS = {56: "openat", 63: "read", 64: "write", 98: "futex", 113: "clock_gettime",
                 131: "tgkill", 134: "sigaction", 135: "sigprocmask", 220: "clone"}  # fmt: skip
_ABORT_CALLS = (131, 135)
"""System calls that abort() makes first."""
_HINTS = {
    "SIGSEGV": "check bounds and pointers",
    "SIGBUS": "check alignment",
    "SIGILL": "use what rv64gcv has, and no other extension",
}


class Counts(msgspec.Struct, frozen=True):
    """What the meter counted in one call: cycles by kind of instruction, then plain totals."""

    scalar: int
    configure: int
    arithmetic: int
    load: int
    store: int
    elements: int
    """Cycles of strided and indexed accesses: one per element."""
    instructions: int
    bytes: int

    @property
    def cycles(self) -> int:
        return sum(self.by_kind().values())

    def by_kind(self) -> dict[str, int]:
        return {
            "scalar": self.scalar,
            "vector arithmetic": self.arithmetic,
            "vector loads": self.load,
            "vector stores": self.store,
            "strided and indexed": self.elements,
            "vector configuration": self.configure,
        }


class _Report(msgspec.Struct, frozen=True):
    """The meter's report: the counts, or the reason why it stopped the kernel."""

    counts: Counts | None = None
    refused: str = ""
    what: str = ""
    number: int = 0
    at: int = 0


class _Ended(msgspec.Struct, frozen=True):
    """The end of the emulator's process."""

    status: int
    report: str
    message: str
    """The end of its standard error."""


class _CallResult(NamedTuple):
    outputs: list[npt.NDArray[Any]]
    counts: Counts


class EmulatedSession(Session):
    """One process of the emulator per call, so that no state passes from one call to the next."""

    def __init__(self, artefacts: dict[str, bytes], bits: int, model: str, zygote: Zygote) -> None:
        self._model = model
        arguments = {"artefacts": list(artefacts), "bits": bits}
        self._sandbox: Sandbox = zygote.spawn(f"{RVV_PROGRAMS}:emulate", arguments, _POLICY)
        files = [memory_file(content) for content in artefacts.values()]
        try:
            self._sandbox.request({}, _SECONDS, tuple(files))
        finally:
            for file in files:
                os.close(file)

    def execute(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> list[npt.NDArray[Any]]:
        return self._call(arguments, outputs, seconds).outputs

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        counts = self._call(arguments, outputs, seconds).counts
        by_kind = sorted(counts.by_kind().items(), key=lambda item: -item[1])
        return Estimate(
            milliseconds=1e3 * counts.cycles / RVV_CLOCK_HERTZ,
            cycles=counts.cycles,
            bytes=counts.bytes,
            model=self._model,
            units={name: cycles / counts.cycles for name, cycles in by_kind if cycles},
            notes=(f"{counts.instructions} instructions executed",),
        )

    def close(self) -> None:
        self._sandbox.close()

    def _call(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> _CallResult:
        call = _call_of(arguments, outputs)
        body, files = self._sandbox.request(
            msgspec.to_builtins(call), seconds, (arguments.tensors.file,)
        )
        try:
            (file,) = files
            blob = Blob.received(file, lay_out([(spec.dtype, spec.shape) for spec in outputs]))
            blob.close()
            counts = _counts(msgspec.convert(body, _Ended), call)
        except (msgspec.MsgspecError, OSError, ValueError) as error:
            raise SandboxProtocolError(f"a malformed answer of the emulator: {error}") from error
        return _CallResult([blob.array(index) for index in range(len(outputs))], counts)


def _call_of(arguments: CallArguments, outputs: Sequence[TensorSpec]) -> EmulatedCall:
    inputs = tuple(arguments.inputs.tensors())
    call = EmulatedCall(
        arguments.tensors.layout, inputs, tuple(arguments.state.values()), tuple(outputs)
    )
    shapes = [*(tensor.shape for tensor in call.given), *(spec.shape for spec in outputs)]
    if len(shapes) > MAX_TENSORS or max(map(len, shapes)) > MAX_RANK:
        summary = (
            f"the call has more than {MAX_TENSORS} tensors, or one of more than {MAX_RANK} axes"
        )
        raise RunFailed("too-many", summary, ())
    return call


def _counts(ended: _Ended, call: EmulatedCall) -> Counts:
    """The counts of a call. Raises RunFailed if it did not come to its end."""
    report = msgspec.json.decode(ended.report, type=_Report) if ended.report else _Report()
    if report.refused:
        raise _refusal(report, call)
    if report.counts is None:
        raise _crash(ended)
    return report.counts


def _crash(ended: _Ended) -> RunFailed:
    evidence = tuple(ended.message.strip().splitlines()[-1:])
    if ended.status >= 0:
        return RunFailed("crash", f"the program ended with exit code {ended.status}", evidence)
    name = signal.Signals(-ended.status).name
    return RunFailed("crash", f"the kernel was killed by {name}", evidence, _HINTS.get(name, ""))


def _refusal(report: _Report, call: EmulatedCall) -> RunFailed:
    match report.refused:
        case "out-of-bounds":
            return _out_of_bounds(report, call)
        case "mutation":
            summary = f"it writes to {call.name(report.number)}"
            return RunFailed("mutation", summary, (), "write outputs only")
        case "system-call":
            name = _SYSTEM_CALLS.get(report.number, f"number {report.number}")
            hint = "a kernel computes from its arguments and writes its outputs, no more"
            if report.number in _ABORT_CALLS:
                hint = "it aborts: a failed assertion, or memory freed wrongly"
            return RunFailed("system-call", f"it makes the system call {name}", (), hint)
        case "counter":
            return RunFailed("counter", "it reads a clock", (), "a kernel needs no clock")
        case _:
            summary = f"it {report.what} memory that is not its own"
            return RunFailed("foreign-memory", summary, (), "check pointers")


def _out_of_bounds(report: _Report, call: EmulatedCall) -> RunFailed:
    tensors = (*call.given, *lay_out([(spec.dtype, spec.shape) for spec in call.outputs]).tensors)
    tensor = tensors[report.number]
    distance = -report.at if report.at < 0 else report.at - tensor.bytes
    edge = "before the start" if report.at < 0 else "behind the end"
    summary = f"it {report.what} {distance} bytes {edge} of {call.name(report.number)}"
    return RunFailed("out-of-bounds", summary, (), "check loop bounds, tails and vl")
