"""The gates in order: integrity, build, correctness, latency. Each ends the way for the next."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from kernelmill.backends.base import Backend, Built, BuildFailed
from kernelmill.candidate import Candidate
from kernelmill.errors import IsolationError
from kernelmill.judge.bench import Bench
from kernelmill.judge.correctness import check_correctness, failure_feedback
from kernelmill.judge.evidence import make_evidence
from kernelmill.judge.latency import CLOCK, Contest, Contestant, TimedAnswerWrong
from kernelmill.judge.protocol import LoadRequest, OutputTensor
from kernelmill.judge.roofline import least_milliseconds
from kernelmill.judge.statistics import ratio_interval
from kernelmill.judge.subject import RunnerRaised, Subject
from kernelmill.judge.verdict import Feedback, Gate, Latency, Profile, Trial, Verdict
from kernelmill.sandbox import CellFailure, Limits, Policy, Tier, Zygote
from kernelmill.tasks import prober
from kernelmill.tasks.loader import TaskFile
from kernelmill.tasks.task import Task

_RUNNER = "kernelmill.judge.runner"
_OPEN_BENCHES = 4
_FRAMEWORK_SHARE = 0.4
"""Refused where more than this share of the computing time is spent in framework libraries."""
_LEAST_SAMPLES = 8


class Settings(msgspec.Struct, frozen=True):
    threads: int = len(os.sched_getaffinity(0))
    rounds: int = 20
    seconds: float = 30.0
    """For one answer of a runner: loading, a trial, a batch."""
    limits: Limits = Limits()
    static_rules: bool = True
    """Off only where a test asks what the gates behind the rules would say."""
    allow_unsandboxed: bool = False


class Judge:
    """Judges candidates for one backend. Not for use from several threads at once."""

    def __init__(self, backend: Backend, settings: Settings | None = None) -> None:
        self.backend = backend
        self.settings = settings or Settings()
        modules = (*prober.MODULES, _RUNNER, *backend.zygote_modules)
        self.zygote = Zygote(modules, self.settings.threads)
        self._benches: dict[str, Bench] = {}

    @property
    def tier(self) -> Tier:
        return self.zygote.features.tier

    def describe(self, file: TaskFile, scale: str = "cpu") -> Task:
        """Load a task file in a cell. Raises TaskError."""
        return prober.describe_task(self.zygote, file, scale)

    def verify(self, task: Task, candidate: Candidate, compiled: bool = False) -> Verdict:
        """Put one candidate through the gates; `compiled` adds torch.compile as a baseline.

        Raises TaskError, BackendUnavailable or IsolationError; whatever is wrong with the
        candidate is in the verdict.
        """
        self._demand_isolation(candidate)
        with self._case(task) as bench:
            return _Trial(self, bench, candidate, compiled).verdict()

    def close(self) -> None:
        for bench in self._benches.values():
            bench.close()
        self._benches.clear()
        self.zygote.close()

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _demand_isolation(self, candidate: Candidate) -> None:
        if self.tier >= Tier.PARTIAL or candidate.origin.ours or self.settings.allow_unsandboxed:
            return
        raise IsolationError(
            f"this machine grants only {self.tier} isolation, and a candidate from a "
            f"{candidate.origin} needs partial: see `kernelmill doctor`, or accept the risk with "
            "--allow-unsandboxed"
        )

    @contextmanager
    def _case(self, task: Task) -> Iterator[Bench]:
        """The bench of a task; it is thrown away if anything unexpected happens on it."""
        bench = self._benches.pop(task.digest, None) or Bench(task, self.zygote, self.settings.threads)
        try:
            yield bench
        except BaseException:
            bench.close()
            raise
        self._benches[task.digest] = bench
        while len(self._benches) > _OPEN_BENCHES:
            self._benches.pop(next(iter(self._benches))).close()


class _Refusal(Exception):
    def __init__(self, *feedback: Feedback) -> None:
        self.feedback = feedback


class _Trial:
    """One candidate on its way through the gates."""

    def __init__(self, judge: Judge, bench: Bench, candidate: Candidate, compiled: bool) -> None:
        self._judge = judge
        self._settings = judge.settings
        self._bench = bench
        self._candidate = candidate
        self._compiled = compiled
        self._gate = Gate.INTEGRITY
        self._seconds: dict[str, float] = {}
        self._trials: tuple[Trial, ...] = ()
        self._latency: Latency | None = None
        self._profile: Profile | None = None

    def verdict(self) -> Verdict:
        feedback: tuple[Feedback, ...] = ()
        try:
            with self._at(Gate.INTEGRITY):
                self._inspect_sources()
            with self._at(Gate.BUILD):
                built = self._build()
            self._run(built)
        except _Refusal as refusal:
            feedback = refusal.feedback
        self._bench.book.renew()
        return Verdict(
            task=self._bench.task.id,
            backend=self._judge.backend.name,
            candidate=self._candidate.digest,
            passed=not feedback,
            gate=self._gate,
            feedback=feedback,
            trials=self._trials,
            latency=self._latency,
            profile=self._profile,
            seconds=self._seconds,
            evidence=make_evidence(
                self._bench.book.seeds,
                self._settings.threads,
                self._judge.tier,
                self._judge.backend.toolchain(),
                CLOCK,
            ),
        )

    @contextmanager
    def _at(self, gate: Gate) -> Iterator[None]:
        self._gate = gate
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[gate] = time.perf_counter() - start

    def _inspect_sources(self) -> None:
        if not self._settings.static_rules:
            return
        findings = self._judge.backend.inspect_sources(self._candidate)
        if findings:
            raise _Refusal(
                *(
                    Feedback(Gate.INTEGRITY, f.rule, f.what, (f.where,), f.instead)
                    for f in findings
                )
            )

    def _build(self) -> Built:
        try:
            built = self._judge.backend.build(self._candidate, self._judge.zygote)
        except BuildFailed as failure:
            raise _Refusal(
                Feedback(Gate.BUILD, failure.kind, failure.summary, failure.evidence, failure.hint)
            ) from failure
        findings = self._judge.backend.inspect_build(self._candidate, built)
        if findings and self._settings.static_rules:
            raise _Refusal(
                *(Feedback(Gate.BUILD, f.rule, f.what, (f.where,), f.instead) for f in findings)
            )
        return built

    def _run(self, built: Built) -> None:
        subject: Subject | None = None
        try:
            with self._at(Gate.CORRECTNESS):
                subject = self._load(built)
                outputs = self._check(subject)
            with self._at(Gate.LATENCY):
                self._measure(subject, outputs, frozenset(built.artefacts))
        except (CellFailure, RunnerRaised) as failure:
            feedback = msgspec.structs.replace(failure_feedback(failure), gate=self._gate)
            raise _Refusal(feedback) from failure
        finally:
            if subject is not None:
                subject.close()

    def _load(self, built: Built) -> Subject:
        policy = Policy(limits=self._settings.limits)
        cell = self._judge.zygote.spawn(
            f"{_RUNNER}:run_candidate", {"threads": self._settings.threads}, policy
        )
        request = LoadRequest(
            sources=self._candidate.files,
            artefacts=list(built.artefacts),
            init_arguments=self._bench.init_arguments,
            init_layout=self._bench.init_layout,
            prebuilt_extensions=built.prebuilt_extensions,
        )
        files = [_in_memory(content) for content in built.artefacts.values()]
        try:
            return Subject(
                cell,
                msgspec.to_builtins(request),
                (self._bench.init_file, *files),
                self._settings.seconds,
            )
        except BaseException:
            cell.close()
            raise
        finally:
            for file in files:
                os.close(file)

    def _check(self, subject: Subject) -> list[OutputTensor]:
        result = check_correctness(subject, self._bench.book.cases, self._settings.seconds)
        self._trials = result.trials
        if result.feedback is not None:
            raise _Refusal(result.feedback)
        return result.outputs

    def _measure(
        self, subject: Subject, outputs: list[OutputTensor], kernel_files: frozenset[str]
    ) -> None:
        bench = self._bench
        baselines = [bench.eager]
        if self._compiled and (compiled := bench.compiled()) is not None:
            baselines.append(compiled)
        contest = Contest(
            Contestant(subject, outputs), baselines, bench.ring, bench.book.plain[0],
            self._settings.seconds,
        )  # fmt: skip
        contest.attach()
        try:
            self._profile = contest.profile(kernel_files)
            self._check_profile(self._profile)
            samples = contest.measure(self._settings.rounds)
        except TimedAnswerWrong as wrong:
            raise _Refusal(
                Feedback(
                    Gate.LATENCY, "timed-answer", str(wrong), (),
                    "finish all work before returning, and compute every call from its own inputs",
                )
            ) from wrong  # fmt: skip
        finally:
            bench.rest()
        medians = [float(sorted(row)[len(row) // 2]) / 1e6 for row in (samples.candidate, *samples.baselines)]
        floor = least_milliseconds(bench.task, self._settings.threads)
        self._latency = Latency(
            candidate_ms=medians[0],
            eager_ms=medians[1],
            compile_ms=medians[2] if len(medians) > 2 else None,
            over_eager=ratio_interval(samples.baselines[0], samples.candidate),
            over_compile=ratio_interval(samples.baselines[1], samples.candidate)
            if len(medians) > 2
            else None,
            floor_ms=floor.memory,
            arithmetic_ms=floor.arithmetic,
            rounds=self._settings.rounds,
            calls_per_round=bench.ring.slots,
        )
        if medians[0] < floor.memory:
            raise _Refusal(
                Feedback(
                    Gate.LATENCY, "too-fast",
                    f"{medians[0]:.4f} ms is below what moving its data takes ({floor.memory:.4f} ms)",
                )
            )  # fmt: skip

    def _check_profile(self, profile: Profile) -> None:
        computing = profile.kernel + profile.framework
        enough = profile.samples * computing >= _LEAST_SAMPLES
        if enough and profile.framework / computing > _FRAMEWORK_SHARE:
            raise _Refusal(
                Feedback(
                    Gate.LATENCY, "framework-compute",
                    f"{profile.framework:.0%} of its time is spent in framework libraries, "
                    f"{profile.kernel:.0%} in its kernel",
                    (), "move the computation into the kernel",
                )
            )  # fmt: skip


def _in_memory(content: bytes) -> int:
    file = os.memfd_create("artefact", os.MFD_CLOEXEC)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file
