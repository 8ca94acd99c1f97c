"""Handle of the examiner, by which the judge talks to it."""

from typing import Any, TypeVar

import msgspec

from kernelmill.judge.cases import secret_seed
from kernelmill.judge.devices.cuda.protocol import (
    ArenaShared,
    CaseCompared,
    CaseRequest,
    CompareRequest,
    DeviceCaseMade,
    Hardware,
    RingMade,
    TimedCheck,
    TimedCheckRequest,
)
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.runner_handle import RunnerHandle, attributed_to_reference
from kernelmill.sandbox.channel import close_files
from kernelmill.sandbox.process import Timed
from kernelmill.sandbox.serving import Done

_SECONDS = 120.0
_MAKE_SECONDS = 300.0

_Answer = TypeVar("_Answer")


class ExaminerHandle:
    """Methods raise ReferenceLost where the examiner fails.

    `make_case` and `make_ring` raise SandboxFailure or RunnerRaised instead, because the task may
    be at fault.
    """

    def __init__(self, runner: RunnerHandle) -> None:
        self.runner = runner

    def stop(self) -> None:
        with attributed_to_reference():
            self.runner.sandbox.stop()

    def resume(self) -> None:
        with attributed_to_reference():
            self.runner.sandbox.resume()

    def hardware(self) -> Hardware:
        return self._ask("hardware", Hardware)

    def make_case(self, request: CaseRequest) -> DeviceCaseMade:
        return self.runner.ask(_body("case", case=request), DeviceCaseMade, _MAKE_SECONDS)

    def make_ring(self, **options: Any) -> RingMade:
        return self.runner.ask(_body("make_ring", **options), RingMade, _MAKE_SECONDS)

    def rest(self) -> None:
        """Have it give back the memory that only makes the next verdict faster."""
        self._ask("rest", Done)

    def drop_case(self, request: CaseRequest) -> None:
        self._ask("drop_case", Done, case=request)

    def export_inputs(self) -> int:
        """An open file for the block of device memory that inputs are written to."""
        with attributed_to_reference():
            _, files = self.runner.ask_for_files({"do": "export_inputs"}, Done, _SECONDS)
        file, *others = files
        close_files(others)
        return file

    def import_arena(self, arena: ArenaShared, file: int) -> None:
        """Read outputs from this block of a runner's memory from now on."""
        body = {"do": "import_arena", **msgspec.to_builtins(arena)}
        with attributed_to_reference():
            self.runner.ask(body, Done, _SECONDS, (file,))

    def release_arena(self) -> None:
        self._ask("release_arena", Done)

    def write_inputs(self, request: CaseRequest) -> None:
        self._ask("write_inputs", Done, case=request)

    def compare(self, request: CaseRequest, tensors: list[OutputTensor]) -> CaseCompared:
        return self._ask("compare", CaseCompared, request=CompareRequest(request, tensors))

    def refresh(self) -> None:
        self._ask("refresh", Done, seed=secret_seed())

    def check_timed(self, request: TimedCheckRequest) -> TimedCheck:
        return self._ask("check_timed", TimedCheck, request=request)

    def time_probe(self) -> Timed:
        """Time work of known duration. The examiner is stopped before and after it."""
        with attributed_to_reference():
            return self.runner.sandbox.timed({"do": "probe"}, _SECONDS)

    def _ask(self, what: str, answer_type: type[_Answer], **more: Any) -> _Answer:
        with attributed_to_reference():
            return self.runner.ask(_body(what, **more), answer_type, _SECONDS)


def _body(what: str, **more: Any) -> dict[str, Any]:
    return {"do": what, **{name: msgspec.to_builtins(value) for name, value in more.items()}}
