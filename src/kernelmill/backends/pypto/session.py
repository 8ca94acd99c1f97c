"""Sessions of the pypto backend: kernels executed and timed by the vendor's simulator."""

import math
from collections.abc import Sequence

from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import Estimate
from kernelmill.backends.pypto.diagnostics import simulator_failure
from kernelmill.backends.pypto.kernels import kernel_source
from kernelmill.backends.pypto.protocol import CallEstimate, PyptoRan, PyptoTrace
from kernelmill.backends.support.ascend_910b import ASCEND_HERTZ
from kernelmill.backends.support.rpc import send_library
from kernelmill.backends.support.toolchain_zygote import SandboxPrograms
from kernelmill.backends.support.traced_session import TracedSession
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import item_size
from kernelmill.sandbox import Sandbox, Zygote
from kernelmill.sandbox.serving import ProgramFailed
from kernelmill.tensors.arguments import CallArguments, InitArguments

_MODEL = "PyPTO 0.2.0, simulator of a 910B1"
_SHOWN_FIGURES = 6


class SimulatedSession(TracedSession[PyptoTrace, PyptoRan]):
    programs = SandboxPrograms(
        "kernelmill.backends.pypto.tracing:trace_pypto_calls",
        "kernelmill.backends.pypto.engine:run_pypto_engine",
    )
    trace_type = PyptoTrace
    report_type = PyptoRan

    def __init__(
        self, candidate: Candidate, init: InitArguments, zygote: Zygote, calculator: bytes
    ) -> None:
        """`calculator` is the library of the vendor's interpreter."""
        self._calculator = calculator
        facts = {"kernels": kernel_source(candidate.files[MODEL_FILE])}
        super().__init__(candidate, init, zygote, facts)

    def prepare_engine(self, engine: Sandbox) -> None:
        send_library(engine, self._calculator)

    def run_failure(self, failed: ProgramFailed) -> CandidateFailed:
        return simulator_failure(failed)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        calls = self.run(arguments, outputs, seconds, timed=True).report.calls
        cycles = sum(call.cycles for call in calls)
        bytes_read = sum(tensor.bytes for tensor in arguments.tensors.layout.tensors)
        bytes_written = sum(math.prod(spec.shape) * item_size(spec.dtype) for spec in outputs)
        return Estimate(
            milliseconds=1e3 * cycles / ASCEND_HERTZ,
            cycles=cycles,
            bytes=bytes_read + bytes_written,
            model=_MODEL,
            units={call.kernel: call.cycles / cycles for call in calls},
            notes=tuple(_note(call) for call in calls),
        )


def _note(call: CallEstimate) -> str:
    figures = list(call.figures.items())[:_SHOWN_FIGURES]
    shown = ", ".join(f"{name} {value:g}" for name, value in figures)
    return f"{call.kernel}: {call.cycles} cycles; {shown}"
