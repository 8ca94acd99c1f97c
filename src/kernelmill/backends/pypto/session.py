"""Kernels of this backend at work, from the judge's side."""

import math
import os
from collections.abc import Sequence

from kernelmill.backends.asking import ask
from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import Estimate
from kernelmill.backends.pypto.diagnostics import run_failure, trace_failure
from kernelmill.backends.pypto.kernels import kernel_text
from kernelmill.backends.pypto.protocol import PyptoRan, PyptoTrace
from kernelmill.backends.traced_session import TracedSession
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.sandbox import Cell, Zygote
from kernelmill.sandbox.serving import Failed
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import in_memory
from kernelmill.tensors.layout import item_size

TRACING = "kernelmill.backends.pypto.tracing"
ENGINE = "kernelmill.backends.pypto.engine"
CLOCK_HERTZ = 1.85e9
MODEL = "PyPTO 0.2.0, simulator of a 910B1"
_FURNISH_SECONDS = 60.0


class SimulatedSession(TracedSession[PyptoTrace, PyptoRan]):
    tracing = f"{TRACING}:trace_candidate"
    engine = f"{ENGINE}:run_engine"
    trace_kind = PyptoTrace
    ran_kind = PyptoRan

    def __init__(
        self, candidate: Candidate, init: InitArguments, zygote: Zygote, calculator: bytes
    ) -> None:
        self._calculator = calculator
        facts = {"kernels": kernel_text(candidate.files[MODEL_FILE])}
        super().__init__(candidate, init, zygote, facts)

    def furnish(self, engine: Cell) -> None:
        file = in_memory(self._calculator)
        try:
            ask(engine, {}, dict, _FURNISH_SECONDS, file)
        finally:
            os.close(file)

    def trace_failure(self, failed: Failed) -> CandidateFailed:
        return trace_failure(failed)

    def run_failure(self, failed: Failed) -> CandidateFailed:
        return run_failure(failed)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        uses = self.run(arguments, outputs, seconds).ran.uses
        cycles = sum(use.cycles for use in uses)
        given = sum(tensor.bytes for tensor in arguments.tensors.layout.tensors)
        made = sum(math.prod(kind.shape) * item_size(kind.dtype) for kind in outputs)
        notes = tuple(
            f"{use.kernel}: {use.cycles} cycles; "
            + ", ".join(f"{name} {value:g}" for name, value in list(use.figures.items())[:6])
            for use in uses
        )
        return Estimate(
            milliseconds=1e3 * cycles / CLOCK_HERTZ,
            cycles=cycles,
            bytes=given + made,
            model=MODEL,
            units={use.kernel: use.cycles / cycles for use in uses},
            notes=notes,
        )
