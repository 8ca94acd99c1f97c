"""The examiner, as the judge talks to it."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from kernelmill.errors import TaskError
from kernelmill.judge.cases import CaseBook, secret_seed
from kernelmill.judge.cuda.protocol import (
    ArenaShared,
    Audited,
    AuditRequest,
    CaseCompared,
    CaseMade,
    CaseRequest,
    CompareRequest,
    Hardware,
    RingMade,
)
from kernelmill.judge.protocol import Done, OutputTensor
from kernelmill.judge.subject import (
    RunnerRaised,
    Subject,
    blaming_reference,
    close_files,
)
from kernelmill.sandbox import CellFailure
from kernelmill.sandbox.cell import Timed
from kernelmill.tasks.task import Task, Variant

_SECONDS = 120.0
_MAKE_SECONDS = 300.0

_Answer = TypeVar("_Answer")


class DeviceCase:
    """A case that lies with the examiner, or will when it is needed: a device has not room for
    many of the largest."""

    def __init__(
        self, variant: Variant, flavour: str, request: CaseRequest, examiner: "Examiner"
    ) -> None:
        self.variant = variant
        self.flavour = flavour
        self.request = request
        self._examiner = examiner
        self._made: CaseMade | None = None

    @property
    def seed(self) -> int:
        return self.request.seed

    @property
    def bytes(self) -> int:
        return 0 if self._made is None else self._made.bytes

    @property
    def made(self) -> CaseMade:
        with blaming_reference():
            return self.make()

    def make(self) -> CaseMade:
        """Raises CellFailure or RunnerRaised where the task does not allow it."""
        if self._made is None:
            self._made = self._examiner.make_case(self.request)
        return self._made

    def close(self) -> None:
        if not self._examiner.subject.cell.closed:
            self._examiner.forget(self.request)


class Examiner:
    """Raises ReferenceLost where it fails, but for `make_case` and `make_ring`: those raise
    CellFailure or RunnerRaised, for the task's fault it may be."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def hardware(self) -> Hardware:
        return self._ask("hardware", Hardware)

    def make_case(self, request: CaseRequest) -> CaseMade:
        return self.subject.ask(_body("case", case=request), CaseMade, _MAKE_SECONDS)

    def make_ring(self, **wishes: Any) -> RingMade:
        return self.subject.ask(_body("make_ring", **wishes), RingMade, _MAKE_SECONDS)

    def forget(self, request: CaseRequest) -> None:
        self._ask("forget", Done, case=request)

    def block(self) -> int:
        """An open file that stands for the block inputs are given in."""
        with blaming_reference():
            _, files = self.subject.ask_for_files({"do": "given"}, Done, _SECONDS)
        file, *uninvited = files
        close_files(uninvited)
        return file

    def adopt(self, arena: ArenaShared, file: int) -> None:
        """Look into this block of a runner's from now on."""
        body = {"do": "adopt", **msgspec.to_builtins(arena)}
        with blaming_reference():
            self.subject.ask(body, Done, _SECONDS, (file,))

    def release(self) -> None:
        self._ask("release", Done)

    def give(self, request: CaseRequest) -> None:
        self._ask("give", Done, case=request)

    def compare(self, request: CaseRequest, tensors: list[OutputTensor]) -> CaseCompared:
        return self._ask("compare", CaseCompared, request=CompareRequest(request, tensors))

    def refresh(self) -> None:
        self._ask("refresh", Done, seed=secret_seed())

    def audit(self, request: AuditRequest) -> Audited:
        return self._ask("audit", Audited, request=request)

    def quiet(self) -> Timed:
        """Known work. It must be stopped, and is again afterwards."""
        with blaming_reference():
            return self.subject.cell.timed({"do": "quiet"}, _SECONDS)

    def _ask(self, what: str, kind: type[_Answer], **more: Any) -> _Answer:
        with blaming_reference():
            return self.subject.ask(_body(what, **more), kind, _SECONDS)


def _body(what: str, **more: Any) -> dict[str, Any]:
    return {"do": what, **{name: msgspec.to_builtins(value) for name, value in more.items()}}


class DeviceCaseBook(CaseBook[DeviceCase]):
    def __init__(self, task: Task, examiner: Examiner) -> None:
        self._task = task
        self._examiner = examiner
        super().__init__(task)

    def make(self, variant: Variant, flavour: str) -> DeviceCase:
        """At once only where its sizes may not do: the shown ones have been seen to work."""
        request = CaseRequest(variant.constants, flavour, secret_seed(), self._task.tolerance)
        case = DeviceCase(variant, flavour, request, self._examiner)
        try:
            if variant.hidden:
                case.make()
        except (CellFailure, RunnerRaised) as error:
            raise TaskError(f"{self._task.id}: no case could be made: {error}") from error
        return case


def requests_of(cases: Sequence[DeviceCase]) -> list[CaseRequest]:
    return [case.request for case in cases]
