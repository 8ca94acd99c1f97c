"""Cases that the examiner holds in device memory, as the judge refers to them."""

from typing import Any

import msgspec

from kernelmill.judge.cases import CaseSet, secret_seed
from kernelmill.judge.devices.cuda.examiner_handle import ExaminerHandle
from kernelmill.judge.devices.cuda.protocol import CaseRequest, DeviceCaseMade
from kernelmill.judge.runner_handle import RunnerRaised, attributed_to_reference
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task, Variant
from kernelmill.sandbox import SandboxFailure


class DeviceCase:
    """A case that the examiner makes on first use: a device cannot hold many large ones."""

    def __init__(
        self, variant: Variant, distribution: str, request: CaseRequest, examiner: ExaminerHandle
    ) -> None:
        self.variant = variant
        self.distribution = distribution
        self.request = request
        self._examiner = examiner
        self._made: DeviceCaseMade | None = None

    @property
    def seed(self) -> int:
        return self.request.seed

    @property
    def bytes(self) -> int:
        return 0 if self._made is None else self._made.bytes

    @property
    def made(self) -> DeviceCaseMade:
        with attributed_to_reference():
            return self.make()

    def make(self) -> DeviceCaseMade:
        """Raises SandboxFailure or RunnerRaised where the task does not allow it."""
        if self._made is None:
            self._made = self._examiner.make_case(self.request)
        return self._made

    def trial_request(self, **options: Any) -> dict[str, Any]:
        """The request for one call on the inputs of this case. Raises ReferenceLost."""
        made = self.made
        return {
            "do": "trial",
            "layout": msgspec.to_builtins(made.layout),
            "inputs": msgspec.to_builtins(made.inputs),
            "state": made.state,
            **options,
        }

    def close(self) -> None:
        if not self._examiner.runner.sandbox.closed:
            self._examiner.drop_case(self.request)


class DeviceCaseSet(CaseSet[DeviceCase]):
    def __init__(self, task: Task, examiner: ExaminerHandle) -> None:
        self._task = task
        self._examiner = examiner
        super().__init__(task)

    def make(self, variant: Variant, distribution: str) -> DeviceCase:
        """A new case; made at once only where the task may reject its sizes."""
        task = self._task
        request = CaseRequest(
            variant.constants, distribution, secret_seed(), task.tolerance, task.signature
        )
        case = DeviceCase(variant, distribution, request, self._examiner)
        try:
            if variant.hidden:
                case.make()
        except (SandboxFailure, RunnerRaised) as error:
            raise TaskError(f"{self._task.id}: no case could be made: {error}") from error
        return case
