"""CPU task harness: references and candidates run on inputs shared through memory files."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

from kernelmill.backends.base import Built
from kernelmill.judge.cases import HostCase, HostCaseSet
from kernelmill.judge.correctness import (
    Correctness,
    TrialRefused,
    TrialResult,
    check_correctness,
)
from kernelmill.judge.devices.cpu.baseline import start_baseline
from kernelmill.judge.devices.cpu.code_identity import KnownCode
from kernelmill.judge.devices.cpu.interleaved import InterleavedTiming, TimedCandidate, TimedInputs
from kernelmill.judge.devices.cpu.peak_memory import peak_bytes
from kernelmill.judge.devices.cpu.profiling import Sampler
from kernelmill.judge.devices.cpu.roofline import cpu_floor
from kernelmill.judge.devices.cpu.template import CandidateTemplate, Template
from kernelmill.judge.devices.cpu.trials import run_trial
from kernelmill.judge.harness import Harness, Measurement
from kernelmill.judge.input_ring import InputRing
from kernelmill.judge.placement import judge_first, pin
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.reference import read_init_arguments, start_reference
from kernelmill.judge.runner_handle import RunnerRaised
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import load_candidate, open_sandbox
from kernelmill.judge.timing import summarise_latency
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Resources
from kernelmill.sandbox import SandboxFailure, Zygote

_SECONDS = 120.0
_BATCH_NANOSECONDS = 8_000_000
_MOST_SLOTS = 8
_MOST_CALLS = 10
_ENOUGH_NANOSECONDS = 50_000_000
"""Calls and time by which it is known how long eager takes."""
_MANY_THREADS = 65
"""As many as a larger machine has, in some of the trials."""
_MOST_TIMED_BYTES = 1 << 30
"""Memory of the ring of timed inputs and of the cases that fill it."""
_RUNNER_PRIVATE_BYTES = 128 << 20
"""Upper estimate of a runner's private memory, on top of the framework pages it shares."""
_FILES_PER_RUNNER = 4


class CpuHarness(Harness[CandidateTemplate]):
    clock = "host clock of the judge; the runner lives only inside it"
    device = ""

    def __init__(
        self,
        task: Task,
        zygote: Zygote,
        settings: JudgeSettings,
        known_code: Callable[[], KnownCode],
    ) -> None:
        self.task = task
        self.known_code = known_code
        self._zygote = zygote
        self._settings = settings
        self._compiled: Template | None = None
        self._compiles = True
        self.init = read_init_arguments(task, zygote)
        self._reference = start_reference(task, zygote, settings)
        self.cases = HostCaseSet(task, self._reference)
        self._eager = start_baseline(task, zygote, settings, compiled=False)
        self.ring = self._make_ring()

    @property
    def seeds(self) -> list[int]:
        return self.cases.seeds

    @property
    def held_bytes(self) -> int:
        runners = (1 + len(self._baselines)) * _RUNNER_PRIVATE_BYTES
        return self.cases.bytes + self.ring.bytes + runners

    @property
    def capacity_bytes(self) -> int:
        return self._settings.harness_bytes

    @property
    def open_files(self) -> int:
        return self.cases.files + 2 + (1 + len(self._baselines)) * _FILES_PER_RUNNER

    @contextmanager
    def spawn_runner(self, candidate: Candidate, built: Built) -> Iterator[CandidateTemplate]:
        with open_sandbox(self._zygote, self._settings) as sandbox:
            empty = sandbox.resident_memory()
            load_candidate(sandbox, candidate, built, self.init, self._settings)
            empty_bytes = None if empty is None else empty.anonymous
            yield CandidateTemplate(sandbox, self._settings.seconds, empty_bytes)

    def check(self, runner: CandidateTemplate, small: bool) -> Correctness:
        hidden = [case for case in self.cases.trials if case.variant.hidden]
        return self._check(runner, hidden if small and hidden else self.cases.trials)

    def check_again(self, runner: CandidateTemplate) -> Correctness:
        return self._check(runner, self.cases.held_out[:1])

    def _check(self, template: CandidateTemplate, cases: list[HostCase]) -> Correctness:
        """Run all trials in one process, as a user's program would, with several numbers of
        threads, which are a user's choice."""
        own, seconds = self._settings.threads, self._settings.seconds
        numbers = cycle((own, 1 if own > 1 else 2, own, _MANY_THREADS))

        def run(case: HostCase) -> TrialResult:
            threads = next(numbers)
            try:
                return run_trial(runner, case, seconds, threads)
            except TrialRefused as refused:
                if threads == own:
                    raise
                said = f"OpenMP has {threads} threads in this trial and {own} in others"
                raise refused.explained(said, hint="") from None

        with template.fork() as runner:
            return check_correctness(cases, run)

    def prepare(self, compiled: bool) -> None:
        self.baselines(compiled)

    def measure(
        self,
        runner: CandidateTemplate,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        timing = InterleavedTiming(
            TimedCandidate(runner, outputs),
            self.baselines(compiled),
            TimedInputs(self.ring, self.task.buffers, self.cases.unlike_timed),
            Sampler(self.known_code(), built.artefacts),
            self._settings,
        )
        samples = timing.measure(self._settings.rounds, repeats)
        floor = cpu_floor(self.task, self._settings.threads)
        latency = summarise_latency(samples, floor, self.ring.slots)
        peak = peak_bytes(runner, self.cases.held_out[0], self._settings.seconds)
        return Measurement(latency, samples.profile, None, resources=Resources(peak))

    def renew(self) -> None:
        self.cases.renew()

    def baselines(self, compiled: bool) -> list[Template]:
        """Eager, and torch.compile where wanted: compiled on first use, left out where it fails."""
        if compiled and self._compiled is None and self._compiles:
            try:
                self._compiled = start_baseline(
                    self.task, self._zygote, self._settings, compiled=True
                )
            except TaskError:
                self._compiles = False
        return self._baselines if compiled else [self._eager]

    @property
    def _baselines(self) -> list[Template]:
        """Those that have been started."""
        return [self._eager] if self._compiled is None else [self._eager, self._compiled]

    def close(self) -> None:
        self._reference.close()
        for baseline in self._baselines:
            baseline.close()
        self.cases.close()
        self.ring.close()
        self.init.close()

    def _make_ring(self) -> InputRing:
        """A ring with enough slots for a batch that the clock resolves, within limits."""
        wanted = math.ceil(_BATCH_NANOSECONDS / max(1, self._eager_nanoseconds()))
        most_cases = _MOST_TIMED_BYTES // self.cases.held_out[0].bytes
        fitting = max(
            slots
            for slots in range(1, _MOST_SLOTS + 1)
            if slots == 1 or InputRing.cases_needed(slots) + slots < most_cases
        )
        slots = max(1, min(wanted, fitting))
        self.cases.hold_out(self.task, InputRing.cases_needed(slots))
        return InputRing(self.cases.held_out, slots)

    def _eager_nanoseconds(self) -> int:
        """Time that eager takes for a call on a machine where nothing else runs."""
        ring = InputRing(self.cases.held_out, 1)
        took = [_ENOUGH_NANOSECONDS]
        try:
            with judge_first(), self._eager.fork() as eager:
                eager.attach(ring.request(self.task.buffers), ring.file, _SECONDS)
                eager.sandbox.stop()
                eager.batch(1, _SECONDS)
                pin(eager.sandbox, self._settings.thread_processors())
                while len(took) <= _MOST_CALLS and sum(took[1:]) < _ENOUGH_NANOSECONDS:
                    took.append(eager.batch(1, _SECONDS).nanoseconds)
        except (SandboxFailure, RunnerRaised) as error:
            raise TaskError(f"{self.task.id}: the reference does not run: {error}") from error
        finally:
            ring.close()
        return min(took)
