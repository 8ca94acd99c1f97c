"""Task harness of modelled chips: a simulator executes candidates, a model estimates latency."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kernelmill.backends.base import Backend, BuildFailed, Built, CandidateFailed
from kernelmill.backends.modelled import (
    BaselineMissing,
    Estimate,
    ModelledBackend,
    RunFailed,
    Session,
    SessionOpener,
)
from kernelmill.judge.cases import HostCase, HostCaseSet
from kernelmill.judge.compare import compare
from kernelmill.judge.correctness import (
    Correctness,
    TrialRefused,
    TrialResult,
    check_comparison,
    check_correctness,
)
from kernelmill.judge.harness import Harness, Measurement
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.reference import read_init_arguments, start_reference
from kernelmill.judge.roofline import latency_floor
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.timing import TimedAnswerWrong
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.verdict import (
    FIRST_FEASIBLE,
    Interval,
    Latency,
    Modelled,
    Profile,
    Verdict,
)
from kernelmill.sandbox import SandboxFailure, Zygote
from kernelmill.tensors.arguments import CallArguments

_BASELINE_SECONDS = 300.0
_NO_BASELINE = "no "
"""Begins the note that says why a task has no other baseline."""
_PATIENT_SECONDS = 5.0
_SAMPLED_SHARE = 0.25
"""Share of further trials per shape that are run once all trials have taken longer than this."""
_REFERENCE_BYTES = 128 << 20
_REFERENCE_FILES = 6


class ModelledHarness(Harness[Session]):
    def __init__(
        self, backend: Backend, task: Task, zygote: Zygote, settings: JudgeSettings
    ) -> None:
        assert isinstance(backend, ModelledBackend)
        self.task = task
        self.clock = backend.clock
        self._backend = backend
        self._zygote = zygote
        self._settings = settings
        self._baseline: _Baseline | None = None
        self._no_baseline = ""
        """Why there is no baseline, once that is known."""
        self._init = read_init_arguments(task, zygote)
        self._reference = start_reference(task, zygote, settings)
        self._cases = HostCaseSet(task, self._reference)

    @property
    def device(self) -> str:
        return f"{self._backend.name} {self._backend.chip}, modelled"

    @property
    def seeds(self) -> list[int]:
        return self._cases.seeds

    @property
    def held_bytes(self) -> int:
        return self._cases.bytes + _REFERENCE_BYTES

    @property
    def capacity_bytes(self) -> int:
        return self._settings.harness_bytes

    @property
    def open_files(self) -> int:
        return self._cases.files + _REFERENCE_FILES

    @contextmanager
    def spawn_runner(self, candidate: Candidate, built: Built) -> Iterator[Session]:
        with self._backend.open(candidate, built, self._init, self._zygote) as session:
            yield session

    def check(self, runner: Session, small: bool) -> Correctness:
        return self._check(runner, self._cases.trials)

    def check_again(self, runner: Session) -> Correctness:
        return self._check(runner, self._cases.held_out[1:])

    def _check(self, session: Session, cases: list[HostCase]) -> Correctness:
        trials = _SampledTrials(session, self._settings.seconds)
        return check_correctness(cases, trials.run)

    def prepare(self, compiled: bool) -> None:
        """Estimate the toolchain's own version of the reference; there is no torch.compile."""
        if self._baseline is None and not self._no_baseline:
            self._find_baseline()

    def restore(self, verdict: Verdict) -> None:
        latency, modelled = verdict.latency, verdict.modelled
        same_clock = verdict.evidence.clock == self.clock
        if self._baseline is None and latency is not None and modelled is not None and same_clock:
            note = next((n for n in modelled.notes if n.startswith(_NO_BASELINE)), "")
            self._baseline = _Baseline(
                FIRST_FEASIBLE, latency.baseline_ms, modelled.baseline_cycles, note
            )

    def _find_baseline(self) -> None:
        """Take the first form of the backend's baseline that passes."""
        end = time.monotonic() + _BASELINE_SECONDS
        reasons: list[str] = []
        try:
            for open_session in self._backend.baselines(self.task, self._init, self._zygote):
                try:
                    self._baseline = self._estimate_baseline(open_session)
                    return
                except (SandboxFailure, CandidateFailed, TrialRefused) as error:
                    reasons.append(str(error))
                if time.monotonic() > end:
                    break
        except BaselineMissing as missing:
            reasons.append(str(missing))
        first = next(iter(reasons), "the backend writes none")
        self._no_baseline = f"{_NO_BASELINE}{self._backend.baseline}: {first}"

    def _estimate_baseline(self, open_session: SessionOpener) -> "_Baseline":
        timed = self._cases.held_out[0]
        with open_session() as session:
            for case in (self._cases.trials[-1], timed):
                _run_trial(session, case, _BASELINE_SECONDS)
            estimate = session.estimate(*_call(timed), _BASELINE_SECONDS)
        name = self._backend.baseline
        note = f"{name}: {estimate.notes[0]}" if estimate.notes else ""
        return _Baseline(name, estimate.milliseconds, estimate.cycles, note)

    def measure(
        self,
        runner: Session,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        """Estimate one call, on inputs new to the candidate: the model needs no rounds."""
        timed = self._cases.held_out[0]
        try:
            _run_trial(runner, timed, self._settings.seconds)
        except TrialRefused as refused:
            raise TimedAnswerWrong(f"on the timed inputs {refused}") from refused
        estimate = runner.estimate(*_call(timed), self._settings.seconds)
        baseline = self._baseline or _Baseline(
            FIRST_FEASIBLE, estimate.milliseconds, estimate.cycles, self._no_baseline
        )
        return Measurement(
            self._latency(estimate, baseline),
            Profile(0, 0.0, 0.0, 0.0),
            None,
            Modelled(
                model=estimate.model,
                cycles=estimate.cycles,
                baseline=baseline.name,
                baseline_cycles=baseline.cycles,
                bytes=estimate.bytes,
                units=estimate.units,
                notes=(*estimate.notes, *filter(None, [baseline.note])),
            ),
        )

    def _latency(self, candidate: Estimate, baseline: "_Baseline") -> Latency:
        peak = self._backend.peak
        floor = latency_floor(
            self.task, peak.bytes_per_second / 1e3, peak.operations_per_second / 1e3
        )
        return Latency(
            candidate_ms=candidate.milliseconds,
            baseline_ms=baseline.milliseconds,
            compile_ms=None,
            over_baseline=Interval.exactly(baseline.milliseconds / candidate.milliseconds),
            over_compile=None,
            floor_ms=floor.memory,
            arithmetic_ms=floor.arithmetic,
            rounds=1,
            calls_per_round=1,
            baseline=baseline.name,
        )

    def renew(self) -> None:
        self._cases.renew()

    def close(self) -> None:
        self._reference.close()
        self._cases.close()
        self._init.close()


class _Baseline(NamedTuple):
    """What candidates are rated against."""

    name: str
    milliseconds: float
    cycles: float
    note: str
    """The most important note on it."""


class _SampledTrials:
    """Runs all trials, or, where the simulator is slow, one per shape and a random sample."""

    def __init__(self, session: Session, seconds: float) -> None:
        self._session = session
        self._seconds = seconds
        self._spent = 0.0
        self._shapes: list[Variant] = []

    def run(self, case: HostCase) -> TrialResult | None:
        """The result of a trial; None where it is left out."""
        known = case.variant in self._shapes
        if known and self._spent > _PATIENT_SECONDS and random.random() > _SAMPLED_SHARE:
            return None
        self._shapes.append(case.variant)
        begun = time.monotonic()
        result = _run_trial(self._session, case, self._seconds)
        self._spent += time.monotonic() - begun
        return result


class _Call(NamedTuple):
    arguments: CallArguments
    outputs: list[TensorSpec]


def _call(case: HostCase) -> _Call:
    return _Call(CallArguments(case.given, case.inputs, case.state), case.output_specs)


def _run_trial(session: Session, case: HostCase, seconds: float) -> TrialResult:
    """Call the kernel once and compare. Raises TrialRefused, BuildFailed or SandboxFailure."""
    try:
        outputs = session.execute(*_call(case), seconds)
    except RunFailed as failed:
        raise TrialRefused(failed.kind, failed.summary, failed.evidence, failed.hint) from failed
    except BuildFailed as failed:
        shape = "a shape that is not shown" if case.variant.hidden else "the shown shape"
        evidence = (f"built for {shape}", *failed.evidence)
        raise BuildFailed(failed.kind, failed.summary, evidence, failed.hint) from failed
    worst = 0.0
    for index, (output, expected) in enumerate(zip(outputs, case.expected, strict=True)):
        comparison = compare(output, expected)
        check_comparison(index, comparison, expected.eager.shape, len(outputs), case.variant.hidden)
        worst = max(worst, comparison.error)
    return TrialResult(worst, [])
