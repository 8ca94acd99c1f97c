"""A bench for a chip that is not here: a simulator executes, and a model tells the time."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.backends.base import Backend, BuildFailed, Built, CandidateFailed
from kernelmill.backends.modelled import (
    BaselineMissing,
    Estimate,
    ModelledBackend,
    RunFailed,
    Session,
)
from kernelmill.candidate import Candidate
from kernelmill.errors import TaskError
from kernelmill.judge.bench import Bench, Competition
from kernelmill.judge.cases import Case, HostCaseBook
from kernelmill.judge.compare import compare
from kernelmill.judge.correctness import (
    Answer,
    Correctness,
    Refused,
    check_comparison,
    check_correctness,
)
from kernelmill.judge.latency import TimedAnswerWrong
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.reference import init_arguments, start_reference
from kernelmill.judge.roofline import floor
from kernelmill.judge.settings import Settings
from kernelmill.judge.verdict import Interval, Latency, Modelled, Profile
from kernelmill.sandbox import CellFailure, Zygote
from kernelmill.tasks.task import Kind, Task, Variant
from kernelmill.tensors.arguments import CallArguments

_BASELINE_SECONDS = 300.0
_PATIENT_SECONDS = 15.0
_SAMPLED_SHARE = 0.25
"""Of the trials at shapes that were tried, when more than the time above was spent on them."""
_REFERENCE_BYTES = 128 << 20
_REFERENCE_FILES = 6


class ModelledBench(Bench[Session]):
    def __init__(self, backend: Backend, task: Task, zygote: Zygote, settings: Settings) -> None:
        assert isinstance(backend, ModelledBackend)
        self.task = task
        self.clock = backend.clock
        self._backend = backend
        self._zygote = zygote
        self._settings = settings
        self._baseline: Estimate | None = None
        self._init = init_arguments(task, zygote)
        self._reference = start_reference(task, zygote, settings, compiled=False)
        self._book = HostCaseBook(task, self._reference)

    @property
    def device(self) -> str:
        return f"{self._backend.name} {self._backend.chip}, modelled"

    @property
    def seeds(self) -> list[int]:
        return self._book.seeds

    @property
    def bytes(self) -> int:
        return self._book.bytes + _REFERENCE_BYTES

    @property
    def most_bytes(self) -> int:
        return self._settings.bench_bytes

    @property
    def files(self) -> int:
        return self._book.files + _REFERENCE_FILES

    @contextmanager
    def seat(self, candidate: Candidate, built: Built) -> Iterator[Session]:
        with self._backend.open(candidate, built, self._init, self._zygote) as session:
            yield session

    def check(self, subject: Session, small: bool) -> Correctness:
        return self._run(subject, self._book.trials)

    def check_again(self, subject: Session) -> Correctness:
        return self._run(subject, self._book.stock[1:])

    def _run(self, session: Session, cases: list[Case]) -> Correctness:
        sampling = _Sampling(session, self._settings.seconds)
        return check_correctness(cases, lambda case, _: sampling.tried(case))

    def prepare(self, compiled: bool) -> None:
        """What the tool chain makes of the reference by itself; there is nothing to compile."""
        if self._baseline is None:
            self._baseline = self._estimate_baseline()

    def _estimate_baseline(self) -> Estimate:
        timed = self._book.stock[0]
        try:
            with self._backend.open_baseline(self.task, self._init, self._zygote) as session:
                for case in (timed, self._book.trials[-1]):
                    _tried(session, case, _BASELINE_SECONDS)
                return session.estimate(*_call(timed), _BASELINE_SECONDS)
        except BaselineMissing as missing:
            raise TaskError(f"{self.task.id}: nothing to compare with: {missing}") from missing
        except (CellFailure, CandidateFailed, Refused) as error:
            raise TaskError(
                f"{self.task.id}: {self._backend.baseline}, the baseline, fails: {error}"
            ) from error

    def compete(
        self,
        subject: Session,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Competition:
        """No rounds: the model says the same every time. The inputs are new to the candidate."""
        assert self._baseline is not None
        timed = self._book.stock[0]
        try:
            _tried(subject, timed, self._settings.seconds)
        except Refused as refused:
            raise TimedAnswerWrong(f"on the timed inputs {refused}") from refused
        estimate = subject.estimate(*_call(timed), self._settings.seconds)
        return Competition(
            self._latency(estimate, self._baseline),
            Profile(0, 0.0, 0.0, 0.0),
            None,
            Modelled(
                model=estimate.model,
                cycles=estimate.cycles,
                baseline=self._backend.baseline,
                baseline_cycles=self._baseline.cycles,
                bytes=estimate.bytes,
                units=estimate.units,
                notes=(*estimate.notes, *self._on_baseline()),
            ),
        )

    def _on_baseline(self) -> list[str]:
        """What is worth knowing of it first."""
        assert self._baseline is not None
        return [f"{self._backend.baseline}: {note}" for note in self._baseline.notes[:1]]

    def _latency(self, candidate: Estimate, baseline: Estimate) -> Latency:
        peak = self._backend.peak
        least = floor(self.task, peak.bytes_per_second / 1e3, peak.operations_per_second / 1e3)
        return Latency(
            candidate_ms=candidate.milliseconds,
            eager_ms=baseline.milliseconds,
            compile_ms=None,
            over_eager=Interval.exactly(baseline.milliseconds / candidate.milliseconds),
            over_compile=None,
            floor_ms=least.memory,
            arithmetic_ms=least.arithmetic,
            rounds=1,
            calls_per_round=1,
            baseline=self._backend.baseline,
        )

    def renew(self) -> None:
        self._book.renew()

    def close(self) -> None:
        self._reference.close()
        self._book.close()
        self._init.close()


class _Sampling:
    """All trials; where the simulator is slow, one of every shape, and some by lot."""

    def __init__(self, session: Session, seconds: float) -> None:
        self._session = session
        self._seconds = seconds
        self._spent = 0.0
        self._shapes: list[Variant] = []

    def tried(self, case: Case) -> Answer | None:
        known = case.variant in self._shapes
        if known and self._spent > _PATIENT_SECONDS and random.random() > _SAMPLED_SHARE:
            return None
        self._shapes.append(case.variant)
        begun = time.monotonic()
        answer = _tried(self._session, case, self._seconds)
        self._spent += time.monotonic() - begun
        return answer


def _call(case: Case) -> tuple[CallArguments, list[Kind]]:
    kinds = [Kind(expected.dtype, expected.eager.shape) for expected in case.expected]
    return CallArguments(case.given, case.inputs, case.state), kinds


def _tried(session: Session, case: Case, seconds: float) -> Answer:
    """One call, compared. Raises Refused, BuildFailed or CellFailure."""
    try:
        outputs = session.execute(*_call(case), seconds)
    except RunFailed as failed:
        raise Refused(failed.kind, failed.summary, failed.evidence, failed.hint) from failed
    except BuildFailed as failed:
        shape = "a shape that is not shown" if case.variant.hidden else "the shown shape"
        evidence = (f"built for {shape}", *failed.evidence)
        raise BuildFailed(failed.kind, failed.summary, evidence, failed.hint) from failed
    worst = 0.0
    for index, (output, expected) in enumerate(zip(outputs, case.expected, strict=True)):
        comparison = compare(output, expected)
        check_comparison(index, comparison, expected.eager.shape, len(outputs))
        worst = max(worst, comparison.error)
    return Answer(worst, [])
