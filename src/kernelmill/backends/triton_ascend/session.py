"""Kernels of this backend at work, from the judge's side."""

from collections import Counter
from collections.abc import Sequence

from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import Estimate
from kernelmill.backends.traced_session import TracedSession
from kernelmill.backends.triton_ascend.diagnostics import run_failure, trace_failure
from kernelmill.backends.triton_ascend.hivm.pipes import BYTES_PER_SECOND, CLOCK_HERTZ
from kernelmill.backends.triton_ascend.protocol import HivmRan, LaunchUse, TritonTrace
from kernelmill.sandbox.serving import Failed
from kernelmill.tasks.task import Kind
from kernelmill.tensors.arguments import CallArguments

TRACING = "kernelmill.backends.triton_ascend.tracing"
ENGINE = "kernelmill.backends.triton_ascend.engine"
MODEL = "pipe model over HIVM (910B at 1.85 GHz), not held against silicon"


class HivmSession(TracedSession[TritonTrace, HivmRan]):
    tracing = f"{TRACING}:trace_candidate"
    engine = f"{ENGINE}:run_engine"
    trace_kind = TritonTrace
    ran_kind = HivmRan

    def trace_failure(self, failed: Failed) -> CandidateFailed:
        return trace_failure(failed)

    def run_failure(self, failed: Failed) -> CandidateFailed:
        return run_failure(failed)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        uses = self.run(arguments, outputs, seconds).ran.uses
        cycles, moved = sum(use.cycles for use in uses), sum(use.bytes for use in uses)
        busy: Counter[str] = Counter()
        for use in uses:
            busy.update(use.busy)
        return Estimate(
            milliseconds=1e3 * max(cycles / CLOCK_HERTZ, moved / BYTES_PER_SECOND),
            cycles=cycles,
            bytes=moved,
            model=MODEL,
            units={pipe: share / cycles for pipe, share in busy.most_common() if share},
            notes=tuple(_note(use) for use in uses),
        )


def _note(use: LaunchUse) -> str:
    """The memory plan and the flags of one launch."""
    local = ", ".join(f"{size >> 10} KiB of {space}" for space, size in use.local_bytes.items())
    return (
        f"{use.kernel}: {use.programs} programs on {use.core}, {use.cycles:.0f} cycles; {local}; "
        f"{use.doubled} buffers doubled; {use.flags} flags a program"
    )
