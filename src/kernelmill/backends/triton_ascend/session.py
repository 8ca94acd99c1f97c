"""Sessions of the triton_ascend backend: compiled HIVM, executed and timed by a pipe model."""

from collections import Counter
from collections.abc import Sequence

from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import Estimate
from kernelmill.backends.support.ascend_910b import ASCEND_BYTES_PER_SECOND, ASCEND_HERTZ
from kernelmill.backends.support.rpc import send_library
from kernelmill.backends.support.toolchain_zygote import SandboxPrograms
from kernelmill.backends.support.traced_session import TracedSession
from kernelmill.backends.triton_ascend.diagnostics import hivm_failure, triton_failure
from kernelmill.backends.triton_ascend.protocol import HivmRan, LaunchEstimate, TritonTrace
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import TensorSpec
from kernelmill.sandbox import Sandbox, Zygote
from kernelmill.sandbox.serving import ProgramFailed
from kernelmill.tensors.arguments import CallArguments, InitArguments

_MODEL = "pipe model over HIVM (910B at 1.85 GHz), not validated on hardware"


class HivmSession(TracedSession[TritonTrace, HivmRan]):
    programs = SandboxPrograms(
        "kernelmill.backends.triton_ascend.tracing:trace_triton_launches",
        "kernelmill.backends.triton_ascend.engine:run_hivm_engine",
    )
    trace_type = TritonTrace
    report_type = HivmRan

    def __init__(
        self, candidate: Candidate, init: InitArguments, zygote: Zygote, chip: str, runtime: bytes
    ) -> None:
        """`runtime` is the library that executes translated HIVM."""
        self._runtime = runtime
        super().__init__(candidate, init, zygote, {"chip": chip})

    def prepare_engine(self, engine: Sandbox) -> None:
        send_library(engine, self._runtime)

    def trace_failure(self, failed: ProgramFailed) -> CandidateFailed:
        return triton_failure(failed)

    def run_failure(self, failed: ProgramFailed) -> CandidateFailed:
        return hivm_failure(failed)

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        launches = self.report(arguments, outputs, seconds).launches
        cycles = sum(launch.cycles for launch in launches)
        moved = sum(launch.bytes for launch in launches)
        busy: Counter[str] = Counter()
        for launch in launches:
            busy.update(launch.busy)
        return Estimate(
            milliseconds=1e3 * max(cycles / ASCEND_HERTZ, moved / ASCEND_BYTES_PER_SECOND),
            cycles=cycles,
            bytes=moved,
            model=_MODEL,
            units={pipe: share / cycles for pipe, share in busy.most_common() if share},
            notes=tuple(_note(launch) for launch in launches),
        )


def _note(launch: LaunchEstimate) -> str:
    """One line with the memory plan and the flags of a launch."""
    local = ", ".join(f"{size >> 10} KiB of {space}" for space, size in launch.local_bytes.items())
    outside = f"; {launch.outside} masked loads from outside" if launch.outside else ""
    return (
        f"{launch.kernel}: {launch.programs} programs on {launch.core}, {launch.cycles:.0f} cycles;"
        f" {local}; {launch.doubled} buffers doubled; {launch.flags} flags per program{outside}"
    )
