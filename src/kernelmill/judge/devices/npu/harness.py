"""Task harness of Ascend NPUs: the runner copies tensors to the device, the judge compares copies.

The runner is not trusted with anything but its outputs, which have to be right, and the clock is
the judge's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.backends.base import Built, RunEnvironment
from kernelmill.backends.support.ascend_910b import (
    ASCEND_BYTES_PER_SECOND,
    ASCEND_HERTZ,
    CUBE_OPERATIONS_PER_CYCLE,
)
from kernelmill.backends.support.ascend_devices import npu_device_files
from kernelmill.judge.cases import HostCase, HostCaseSet, secret_seed
from kernelmill.judge.compare import compare
from kernelmill.judge.correctness import (
    Correctness,
    TrialResult,
    check_answer,
    check_comparison,
    check_correctness,
    mutation_refusal,
)
from kernelmill.judge.devices.npu.msprof import diagnosis_of, profile_of, read_summary
from kernelmill.judge.devices.npu.protocol import CallResult, ProfileRequest, ProfileText
from kernelmill.judge.harness import Harness, Measurement
from kernelmill.judge.input_ring import InputRing
from kernelmill.judge.protocol import OutputTensor, ReferenceRequest
from kernelmill.judge.reference import REFERENCE_LIMITS, read_init_arguments, start_reference
from kernelmill.judge.roofline import LatencyFloor, latency_floor
from kernelmill.judge.runner_handle import RunnerHandle, RunnerRaised, attributed_to_reference
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import candidate_files, load_candidate
from kernelmill.judge.timing import Samples, TimedAnswerWrong, summarise_latency
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Profile
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxFailure,
    SandboxProtocolError,
    Zygote,
)
from kernelmill.sandbox.channel import close_files
from kernelmill.tensors.blob import Blob

_PACKAGES = str(Path(__file__).parents[4])
"""The folder of this package, from which the program under the profiler is started."""
_PROGRAMS = "kernelmill.judge.devices.npu.runner"
_SECONDS = 120.0
_PROFILE_SECONDS = 300.0
_SLOTS = 4
_PROFILED_CALLS = 5
_THOROUGH_ROUNDS = 4
"""Every so many rounds a timed answer is compared."""
_REFERENCE_BYTES = 128 << 20
_OPEN_FILES = 10
_SAFETY_FACTOR = 1.5
"""Factor on published peaks, since a floor must never refuse a correct kernel."""
_CUBE_CORES = 24


class NpuHarness(Harness[RunnerHandle]):
    clock = "host clock of the judge around batches; the runner waits for the device in each"

    def __init__(
        self, task: Task, zygote: Zygote, settings: JudgeSettings, environment: RunEnvironment
    ) -> None:
        self.task = task
        self._zygote = zygote
        self._settings = settings
        self._environment = environment
        self._eager: RunnerHandle | None = None
        self._candidate: tuple[Candidate, Built] | None = None
        self._rng = np.random.default_rng()
        self._init = read_init_arguments(task, zygote)
        self._reference = start_reference(task, zygote, settings)
        self._cases = HostCaseSet(task, self._reference)
        self._cases.hold_out(task, InputRing.cases_needed(_SLOTS))
        self._ring = InputRing(self._cases.held_out, _SLOTS)

    @property
    def device(self) -> str:
        return f"Ascend NPU, {len(npu_device_files())} device files"

    @property
    def seeds(self) -> list[int]:
        return self._cases.seeds

    @property
    def held_bytes(self) -> int:
        return self._cases.bytes + self._ring.bytes + 2 * _REFERENCE_BYTES

    @property
    def capacity_bytes(self) -> int:
        return self._settings.harness_bytes

    @property
    def open_files(self) -> int:
        return self._cases.files + _OPEN_FILES

    @contextmanager
    def spawn_runner(self, candidate: Candidate, built: Built) -> Iterator[RunnerHandle]:
        with self._start("run_npu_candidate", self._settings.limits) as sandbox:
            runner = load_candidate(sandbox, candidate, built, self._init, self._settings)
            self._candidate = candidate, built
            yield runner

    def _start(self, program: str, limits: ResourceLimits, may_execute: bool = False) -> Sandbox:
        files = npu_device_files()
        arguments = {
            "environment": self._environment.variables,
            "threads": self._settings.threads,
            "device_files": list(files),
        }
        reading = (*self._environment.reading, *([_PACKAGES] if may_execute else []))
        policy = Policy(limits=limits, may_execute=may_execute, devices=files, reading=reading)
        return self._zygote.spawn(f"{_PROGRAMS}:{program}", arguments, policy)

    def check(self, runner: RunnerHandle, small: bool) -> Correctness:
        return self._check(runner, self._cases.trials)

    def check_again(self, runner: RunnerHandle) -> Correctness:
        runner.sandbox.resume()
        return self._check(runner, self._cases.held_out[:1])

    def _check(self, runner: RunnerHandle, cases: list[HostCase]) -> Correctness:
        return check_correctness(cases, lambda case: self._run_trial(runner, case))

    def _run_trial(self, runner: RunnerHandle, case: HostCase) -> TrialResult:
        poison = [(spec.dtype, spec.shape) for spec in case.output_specs]
        done = runner.trial(_trial_body(case, poison), case.given.file, self._settings.seconds)
        check_answer(done, case.outputs, case.output_specs, case)
        outputs, changed = self._fetch(runner, case, None)
        worst = 0.0
        for index, (output, expected) in enumerate(zip(outputs, case.expected, strict=True)):
            comparison = compare(output, expected)
            check_comparison(
                index, comparison, expected.eager.shape, len(outputs), case.variant.hidden
            )
            worst = max(worst, comparison.error)
        if changed is not None and changed < len(case.given.layout.tensors) - len(case.state):
            raise mutation_refusal(changed)
        return TrialResult(worst, done.tensors)

    def _fetch(
        self, runner: RunnerHandle, case: HostCase, call: int | None
    ) -> tuple[list[npt.NDArray[Any]], int | None]:
        """Outputs that the runner holds, and the input that it has changed."""
        result, files = runner.ask_for_files(
            {"do": "fetch", "call": call}, CallResult, self._settings.seconds
        )
        found = [(tensor.dtype, tensor.shape) for tensor in result.layout.tensors]
        try:
            if len(files) != 1 or found != [(s.dtype, s.shape) for s in case.output_specs]:
                raise ValueError("outputs of another form than announced")
            blob = Blob.received(files[0], result.layout)
        except (OSError, ValueError) as error:
            close_files(files)
            raise SandboxProtocolError(f"malformed outputs: {error}") from error
        outputs = [np.array(blob.array(index)) for index in range(len(found))]
        blob.close()
        return outputs, result.changed

    def prepare(self, compiled: bool) -> None:
        """Start the reference on the NPU, where it is timed; there is no torch.compile."""
        if self._eager is not None:
            return
        task = self.task
        request = ReferenceRequest(task.source, task.scale, secret_seed())
        try:
            runner = RunnerHandle(self._start("run_npu_baseline", REFERENCE_LIMITS))
            runner.load(request, (), _SECONDS)
            case = self._cases.held_out[0]
            runner.trial(_trial_body(case, [], watched=False), case.given.file, _SECONDS)
        except (SandboxFailure, RunnerRaised) as error:
            raise TaskError(f"{task.id}: the reference does not run on the NPU: {error}") from error
        self._eager = runner

    def measure(
        self,
        runner: RunnerHandle,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        assert self._eager is not None
        rows: tuple[list[float], list[float]] = ([], [])
        for number in range(self._settings.rounds):
            self._ring.refill(self._rng)
            sides = [(runner, rows[0]), (self._eager, rows[1])]
            for side, row in sides if number % 2 else reversed(sides):
                row.append(self._time_batch(side))
            if number % _THOROUGH_ROUNDS == 0:
                self._compare_timed(runner)
        samples = Samples(np.array(rows[0]), [np.array(rows[1])], 0.0, Profile(0, 0.0, 0.0, 0.0))
        latency = summarise_latency(samples, self._floor(), _SLOTS)
        operators = read_summary(self._profile_text().summary)
        diagnosis = diagnosis_of(operators, _PROFILED_CALLS, self.task, latency)
        return Measurement(
            latency, profile_of(operators, built.kernels, _PROFILED_CALLS), diagnosis
        )

    def _time_batch(self, runner: RunnerHandle) -> float:
        """Nanoseconds per call of one batch on the ring, whose tensors are copied before it."""
        seconds = self._settings.seconds
        runner.sandbox.resume()
        runner.attach(self._ring.request(self.task.buffers), self._ring.file, seconds)
        runner.sandbox.stop()
        return runner.batch(_SLOTS, seconds).nanoseconds / _SLOTS

    def _compare_timed(self, runner: RunnerHandle) -> None:
        """Compare the answer of one timed call, which the runner still holds."""
        call = int(self._rng.integers(_SLOTS))
        case = self._ring.case(call)
        runner.sandbox.resume()
        outputs, _ = self._fetch(runner, case, call)
        for output, expected in zip(outputs, case.expected, strict=True):
            comparison = compare(output, expected)
            if comparison.error > 1:
                raise TimedAnswerWrong(
                    f"in a timed call {comparison.wrong} of {output.size} elements are wrong"
                )

    def _floor(self) -> LatencyFloor:
        operations = ASCEND_HERTZ * _CUBE_CORES * CUBE_OPERATIONS_PER_CYCLE
        return latency_floor(
            self.task,
            _SAFETY_FACTOR * ASCEND_BYTES_PER_SECOND / 1e3,
            _SAFETY_FACTOR * operations / 1e3,
        )

    def _profile_text(self) -> ProfileText:
        """Run the candidate under msprof; nothing where that fails."""
        assert self._candidate is not None
        case = self._cases.held_out[0]
        with candidate_files(*self._candidate, self._init) as (request, files):
            body = ProfileRequest(
                msgspec.to_builtins(request), _trial_body(case, []), _PROFILED_CALLS
            )
            try:
                with self._start("run_msprof", self._settings.limits, True) as sandbox:
                    answer, received = sandbox.request(
                        msgspec.to_builtins(body), _PROFILE_SECONDS, (*files, case.given.file)
                    )
                close_files(received)
                return msgspec.convert(answer, ProfileText)
            except (SandboxFailure, msgspec.ValidationError) as error:
                return ProfileText("", str(error))

    def renew(self) -> None:
        with attributed_to_reference():
            self._cases.renew()

    def close(self) -> None:
        self._reference.close()
        if self._eager is not None:
            self._eager.close()
        self._ring.close()
        self._cases.close()
        self._init.close()


def _trial_body(
    case: HostCase, poison: list[tuple[str, tuple[int, ...]]], watched: bool = True
) -> dict[str, Any]:
    return {
        "layout": msgspec.to_builtins(case.given.layout),
        "inputs": msgspec.to_builtins(case.inputs),
        "state": case.state,
        "poison": poison,
        "watched": watched,
    }
