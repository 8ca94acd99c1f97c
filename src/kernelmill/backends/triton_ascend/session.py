"""A kernel at work: one cell that traces its launches, one that compiles and executes them.

The second never sees the candidate's Python, so that what it says of outputs and cycles is not the
candidate's to say.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy.typing as npt

from kernelmill.backends.asking import InsideFailed, ask, ask_for_files, close_files
from kernelmill.backends.modelled import Estimate, RunFailed, Session
from kernelmill.backends.triton_ascend.diagnostics import run_failure, trace_failure
from kernelmill.backends.triton_ascend.hivm.pipes import BYTES_PER_SECOND, CLOCK_HERTZ
from kernelmill.backends.triton_ascend.protocol import (
    LaunchUse,
    LoadRequest,
    Ran,
    RunRequest,
    Traced,
    TraceRequest,
)
from kernelmill.candidate import Candidate
from kernelmill.sandbox import Cell, CellProtocolError, Limits, Policy, Zygote
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Layout, lay_out

TRACING = "kernelmill.backends.triton_ascend.tracing"
ENGINE = "kernelmill.backends.triton_ascend.engine"
MODEL = "pipe model over HIVM (910B at 1.85 GHz), not held against silicon"
_LIMITS = Limits(memory_bytes=8 << 30, processes=64)
_LOAD_SECONDS = 60.0


class _Answer(NamedTuple):
    outputs: list[npt.NDArray[Any]]
    uses: list[LaunchUse]


class HivmSession(Session):
    def __init__(
        self, chip: str, candidate: Candidate, init: InitArguments, zygote: Zygote
    ) -> None:
        """Raises CellFailure, or CandidateFailed where it does not load."""
        self._known: dict[tuple[Kind, ...], Traced] = {}
        self._cells: list[Cell] = []
        try:
            self._engine = self._open(f"{ENGINE}:run_engine", chip, zygote, may_execute=True)
            self._tracer = self._open(f"{TRACING}:trace_candidate", chip, zygote)
            self._load(candidate, init)
        except Exception:
            self.close()
            raise

    def execute(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> list[npt.NDArray[Any]]:
        return self._run(arguments, outputs, seconds).outputs

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        uses = self._run(arguments, outputs, seconds).uses
        cycles, moved = sum(use.cycles for use in uses), sum(use.bytes for use in uses)
        busy: Counter[str] = Counter()
        for use in uses:
            busy.update(use.busy)
        shares = {pipe: share / cycles for pipe, share in busy.most_common() if share}
        return Estimate(
            milliseconds=1e3 * max(cycles / CLOCK_HERTZ, moved / BYTES_PER_SECOND),
            cycles=cycles,
            bytes=moved,
            model=MODEL,
            units=shares,
            notes=tuple(_note(use) for use in uses),
        )

    def close(self) -> None:
        for cell in self._cells:
            cell.close()

    def _open(self, entry: str, chip: str, zygote: Zygote, may_execute: bool = False) -> Cell:
        policy = Policy(limits=_LIMITS, may_execute=may_execute)
        cell = zygote.spawn(entry, {"chip": chip}, policy)
        self._cells.append(cell)
        return cell

    def _load(self, candidate: Candidate, init: InitArguments) -> None:
        request = LoadRequest(candidate.files, init.value, _kinds(init.tensors.layout))
        try:
            ask(self._tracer, msgspec.to_builtins(request), dict, _LOAD_SECONDS)
        except InsideFailed as inside:
            raise trace_failure(inside.failed) from inside

    def _run(self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float) -> _Answer:
        traced = self._trace(arguments, outputs, seconds)
        layout = arguments.tensors.layout
        body = {"do": "run", "call": msgspec.to_builtins(RunRequest(layout, traced))}
        try:
            ran, files = ask_for_files(self._engine, body, Ran, seconds, arguments.tensors.file)
        except InsideFailed as inside:
            raise run_failure(inside.failed) from inside
        if ran.mutated is not None:
            close_files(files)
            summary = f"a kernel writes to tensor {ran.mutated} of the call"
            raise RunFailed("mutation", summary, (), "write outputs only")
        return _Answer(_arrays(files, outputs), ran.uses)

    def _trace(self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float) -> Traced:
        kinds = tuple(_kinds(arguments.tensors.layout))
        if kinds not in self._known:
            request = TraceRequest(list(kinds), arguments.inputs, arguments.state)
            body = {"do": "trace", "call": msgspec.to_builtins(request)}
            try:
                traced = ask(self._tracer, body, Traced, seconds)
            except InsideFailed as inside:
                raise trace_failure(inside.failed) from inside
            _check(traced, len(kinds), outputs)
            self._known[kinds] = traced
        return self._known[kinds]


def _check(traced: Traced, given: int, outputs: Sequence[Kind]) -> None:
    """The form of what forward returned."""
    if not traced.launches:
        raise RunFailed("no-kernel", "forward launches no kernel", (), "compute in a kernel")
    if len(traced.outputs) != len(outputs):
        summary = f"forward returns {len(traced.outputs)} tensors, the reference {len(outputs)}"
        raise RunFailed("length", summary, ())
    for output, wanted in zip(traced.outputs, outputs, strict=True):
        if output.shape != wanted.shape:
            raise RunFailed("shape", f"an output is {list(output.shape)}", ())
        if output.dtype != wanted.dtype:
            raise RunFailed("type", f"an output is {output.dtype}, not {wanted.dtype}", ())
        if output.buffer < given:
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


def _kinds(layout: Layout) -> list[Kind]:
    return [Kind(tensor.dtype, tensor.shape) for tensor in layout.tensors]


def _note(use: LaunchUse) -> str:
    """The memory plan and the flags of one launch."""
    local = ", ".join(f"{size >> 10} KiB of {space}" for space, size in use.local_bytes.items())
    return (
        f"{use.kernel}: {use.programs} programs on {use.core}, {use.cycles:.0f} cycles; {local}; "
        f"{use.doubled} buffers doubled; {use.flags} flags a program"
    )
