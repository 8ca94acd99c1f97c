"""A built kernel in its cell, from the judge's side."""

import os
import signal
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.modelled import Estimate, RunFailed, Session
from kernelmill.backends.rvv.calling import MOST_RANK, MOST_TENSORS, Call
from kernelmill.sandbox import Cell, CellProtocolError, Limits, Policy, Zygote
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments
from kernelmill.tensors.blob import Blob, in_memory
from kernelmill.tensors.layout import lay_out

PROGRAMS = "kernelmill.backends.rvv.programs"
_POLICY = Policy(limits=Limits(memory_bytes=4 << 30, processes=16), may_execute=True)
_SECONDS = 30.0
CLOCK_HERTZ = 1e9
_SYSTEM_CALLS = {56: "openat", 63: "read", 64: "write", 98: "futex", 113: "clock_gettime",
                 131: "tgkill", 134: "sigaction", 135: "sigprocmask", 220: "clone"}  # fmt: skip
_ABORTING = (131, 135)
_HINTS = {
    "SIGSEGV": "check bounds and pointers",
    "SIGBUS": "check alignment",
    "SIGILL": "use what rv64gcv has, and no other extension",
}


class Counts(msgspec.Struct, frozen=True):
    """Of one call. Cycles by kind of instruction, then plain numbers."""

    scalar: int
    configure: int
    arithmetic: int
    load: int
    store: int
    elements: int
    """Cycles of strided and indexed accesses: one an element."""
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
    """What the meter wrote: the counts, or why it stopped the kernel."""

    counts: Counts | None = None
    refused: str = ""
    what: str = ""
    number: int = 0
    at: int = 0


class _Ran(msgspec.Struct, frozen=True):
    status: int
    report: str
    said: str


class _Answer(NamedTuple):
    outputs: list[npt.NDArray[Any]]
    counts: Counts


class EmulatedSession(Session):
    """One process of the emulator for every call: nothing of a call is left for the next."""

    def __init__(self, artefacts: dict[str, bytes], bits: int, model: str, zygote: Zygote) -> None:
        self._model = model
        arguments = {"artefacts": list(artefacts), "bits": bits}
        self._cell: Cell = zygote.spawn(f"{PROGRAMS}:emulate", arguments, _POLICY)
        files = [in_memory(content) for content in artefacts.values()]
        try:
            self._cell.request({}, _SECONDS, tuple(files))
        finally:
            for file in files:
                os.close(file)

    def execute(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> list[npt.NDArray[Any]]:
        return self._call(arguments, outputs, seconds).outputs

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        counts = self._call(arguments, outputs, seconds).counts
        by_kind = sorted(counts.by_kind().items(), key=lambda item: -item[1])
        return Estimate(
            milliseconds=1e3 * counts.cycles / CLOCK_HERTZ,
            cycles=counts.cycles,
            bytes=counts.bytes,
            model=self._model,
            units={name: cycles / counts.cycles for name, cycles in by_kind if cycles},
            notes=(f"{counts.instructions} instructions executed",),
        )

    def close(self) -> None:
        self._cell.close()

    def _call(self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float) -> _Answer:
        call = _call_of(arguments, outputs)
        body, files = self._cell.request(
            msgspec.to_builtins(call), seconds, (arguments.tensors.file,)
        )
        try:
            (file,) = files
            blob = Blob.received(file, lay_out([(kind.dtype, kind.shape) for kind in outputs]))
            blob.close()
            counts = _counts(msgspec.convert(body, _Ran), call)
        except (msgspec.MsgspecError, OSError, ValueError) as error:
            raise CellProtocolError(f"the emulator answers nonsense: {error}") from error
        return _Answer([blob.array(index) for index in range(len(outputs))], counts)


def _call_of(arguments: CallArguments, outputs: Sequence[Kind]) -> Call:
    inputs = tuple(arguments.inputs.tensors())
    call = Call(arguments.tensors.layout, inputs, tuple(arguments.state.values()), tuple(outputs))
    shapes = [*(tensor.shape for tensor in call.given), *(kind.shape for kind in outputs)]
    if len(shapes) > MOST_TENSORS or max(map(len, shapes)) > MOST_RANK:
        raise RunFailed("too-many", f"more than {MOST_TENSORS} tensors, or dimensions", ())
    return call


def _counts(ran: _Ran, call: Call) -> Counts:
    """Raises RunFailed where the call did not come to its end."""
    report = msgspec.json.decode(ran.report, type=_Report) if ran.report else _Report()
    if report.refused:
        raise _refusal(report, call)
    if report.counts is None:
        raise _crash(ran)
    return report.counts


def _crash(ran: _Ran) -> RunFailed:
    said = tuple(ran.said.strip().splitlines()[-1:])
    if ran.status >= 0:
        return RunFailed("crash", f"the program ended with exit code {ran.status}", said)
    name = signal.Signals(-ran.status).name
    return RunFailed("crash", f"the kernel was killed by {name}", said, _HINTS.get(name, ""))


def _refusal(report: _Report, call: Call) -> RunFailed:
    match report.refused:
        case "out-of-bounds":
            return _out_of_bounds(report, call)
        case "mutation":
            summary = f"it writes to {call.name(report.number)}"
            return RunFailed("mutation", summary, (), "write outputs only")
        case "system-call":
            name = _SYSTEM_CALLS.get(report.number, f"number {report.number}")
            hint = "a kernel computes from its arguments and writes its outputs, no more"
            if report.number in _ABORTING:
                hint = "it aborts: a failed assertion, or memory freed wrongly"
            return RunFailed("system-call", f"it makes the system call {name}", (), hint)
        case "counter":
            return RunFailed("counter", "it reads a clock", (), "a kernel needs no clock")
        case _:
            summary = f"it {report.what} memory that is not its own"
            return RunFailed("foreign-memory", summary, (), "check pointers")


def _out_of_bounds(report: _Report, call: Call) -> RunFailed:
    tensors = (*call.given, *lay_out([(k.dtype, k.shape) for k in call.outputs]).tensors)
    tensor = tensors[report.number]
    far = -report.at if report.at < 0 else report.at - tensor.bytes
    where = f"{far} bytes before the start" if report.at < 0 else f"{far} bytes behind the end"
    summary = f"it {report.what} {where} of {call.name(report.number)}"
    return RunFailed("out-of-bounds", summary, (), "check loop bounds, tails and vl")
