"""The gates in order: integrity, build, correctness, latency. Each ends the way for the next."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import msgspec

from kernelmill.backends.base import Backend, BuildFailed, Built, CandidateFailed, Finding
from kernelmill.candidate import Candidate
from kernelmill.judge.bench import Bench
from kernelmill.judge.correctness import Correctness, failure_feedback
from kernelmill.judge.evidence import make_evidence
from kernelmill.judge.hidden_sizes import with_drawn_sizes
from kernelmill.judge.latency import REPEATS, TimedAnswerWrong
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import RunnerRaised
from kernelmill.judge.verdict import (
    DeviceDiagnosis,
    Feedback,
    Gate,
    Latency,
    Modelled,
    Profile,
    Trial,
    Verdict,
)
from kernelmill.sandbox import CellFailure, Zygote

_FOREIGN_SHARE = 0.35
_FOREIGN_MS = 0.1
"""Refused where foreign code takes more than this share of the computing, and more than this
time a call (calls into the framework cost a little), ..."""
_FOREIGN_OF_EAGER = 0.25
"""... or as much time as this share of what eager takes, however much else goes on."""
_LEAST_LOOKS = 4
_BRIEF_REPEATS = 1
"""Enough to make up for disturbed rounds."""

Quiet = Callable[[], AbstractContextManager[None]]
"""Entered while the clock runs: keeps other work off the machine."""


class _Refusal(Exception):
    """A gate says no."""

    def __init__(self, *feedback: Feedback) -> None:
        self.feedback = feedback
        super().__init__(*feedback)


class Passage:
    """One candidate's way through the gates. Used once."""

    def __init__(
        self, backend: Backend, zygote: Zygote, settings: Settings, bench: Bench[Any], quiet: Quiet
    ) -> None:
        self._backend = backend
        self._zygote = zygote
        self._settings = settings
        self._bench = bench
        self._quiet = quiet
        self._gate = Gate.INTEGRITY
        self._seconds: dict[str, float] = {}
        self._trials: tuple[Trial, ...] = ()
        self._latency: Latency | None = None
        self._profile: Profile | None = None
        self._diagnosis: DeviceDiagnosis | None = None
        self._modelled: Modelled | None = None
        self._repeats = REPEATS

    def judge(
        self, candidate: Candidate, compiled: bool, brief: bool, objection: str = ""
    ) -> Verdict:
        self._repeats = _BRIEF_REPEATS if brief else REPEATS
        feedback: tuple[Feedback, ...] = ()
        try:
            with self._at(Gate.INTEGRITY):
                self._inspect(candidate, objection)
            with self._at(Gate.BUILD):
                built = self._build(candidate)
            self._run(candidate, built, compiled)
        except _Refusal as refusal:
            feedback = refusal.feedback
        self._bench.renew()
        return self._verdict(candidate, feedback)

    def _verdict(self, candidate: Candidate, feedback: tuple[Feedback, ...]) -> Verdict:
        return Verdict(
            task=self._bench.task.id,
            backend=self._backend.name,
            candidate=candidate.digest,
            passed=not feedback,
            gate=self._gate,
            feedback=feedback,
            trials=self._trials,
            latency=self._latency,
            profile=self._profile,
            diagnosis=self._diagnosis,
            modelled=self._modelled,
            seconds=self._seconds,
            evidence=make_evidence(
                self._bench.seeds,
                self._settings.threads,
                self._zygote.features.tier,
                self._backend.toolchain(),
                self._bench.clock,
                self._bench.device,
            ),
        )

    @contextmanager
    def _at(self, gate: Gate) -> Iterator[None]:
        self._gate = gate
        start = time.perf_counter()
        try:
            yield
        except (CellFailure, RunnerRaised) as failure:
            feedback = msgspec.structs.replace(failure_feedback(failure), gate=gate)
            raise _Refusal(feedback) from failure
        except CandidateFailed as failed:
            if isinstance(failed, BuildFailed):
                self._gate = Gate.BUILD  # some tool chains build for the shapes of a call
            raise _Refusal(
                Feedback(self._gate, failed.kind, failed.summary, failed.evidence, failed.hint)
            ) from failed
        finally:
            self._seconds[gate] = time.perf_counter() - start

    def _inspect(self, candidate: Candidate, objection: str) -> None:
        """The rules first; then what an auditor has to say, where one looked."""
        if self._settings.static_rules:
            self._object(self._backend.inspect_sources(candidate))
        if objection:
            hint = "do the work of the reference in the kernel, for whatever inputs it is given"
            raise _Refusal(Feedback(Gate.INTEGRITY, "audit", objection, (), hint))

    def _build(self, candidate: Candidate) -> Built:
        built = self._backend.build(candidate, self._zygote)
        if self._settings.static_rules:
            self._object(self._backend.inspect_build(candidate, built))
        task = with_drawn_sizes(self._bench.task)
        return self._backend.compile_for(task, candidate, built, self._zygote)

    def _object(self, findings: Iterable[Finding]) -> None:
        feedback = [
            Feedback(self._gate, finding.rule, finding.what, (finding.where,), finding.instead)
            for finding in findings
        ]
        if feedback:
            raise _Refusal(*feedback)

    def _run(self, candidate: Candidate, built: Built, compiled: bool) -> None:
        with ExitStack() as stack:
            with self._at(Gate.CORRECTNESS):
                subject = stack.enter_context(self._bench.seat(candidate, built))
                small = not self._backend.measures
                outputs = self._demand(self._bench.check(subject, small))
            if self._backend.measures:
                with self._at(Gate.LATENCY):
                    self._compete(subject, outputs, built, compiled)

    def _demand(self, result: Correctness) -> list[OutputTensor]:
        if self._gate is Gate.CORRECTNESS:
            self._trials = result.trials
        if result.feedback is not None:
            raise _Refusal(msgspec.structs.replace(result.feedback, gate=self._gate))
        return result.outputs

    def _compete(
        self, subject: Any, outputs: list[OutputTensor], built: Built, compiled: bool
    ) -> None:
        bench = self._bench
        bench.prepare(compiled)
        with self._quiet():
            try:
                competition = bench.compete(subject, outputs, built, compiled, self._repeats)
            except TimedAnswerWrong as wrong:
                raise _Refusal(
                    Feedback(Gate.LATENCY, "timed-answer", str(wrong), (), wrong.hint)
                ) from wrong
        latency, self._profile, self._diagnosis, self._modelled = competition
        self._check_profile(self._profile, latency.eager_ms)
        self._demand(bench.check_again(subject))
        self._latency = latency
        if latency.candidate_ms < latency.floor_ms:
            summary = (
                f"{latency.candidate_ms:.4f} ms is less than moving its data takes, "
                f"{latency.floor_ms:.4f} ms"
            )
            raise _Refusal(Feedback(Gate.LATENCY, "too-fast", summary))

    def _check_profile(self, profile: Profile, eager_ms: float) -> None:
        share = profile.foreign / max(1e-9, profile.foreign + profile.kernel)
        mostly = share > _FOREIGN_SHARE and profile.foreign_ms > _FOREIGN_MS
        much = profile.foreign_ms > max(_FOREIGN_MS, _FOREIGN_OF_EAGER * eager_ms)
        if profile.looks >= _LEAST_LOOKS and (mostly or much):
            summary = (
                f"{share:.0%} of its computing time is spent in code that is not its own, "
                f"{profile.foreign_ms:.2f} ms a call"
            )
            hint = "move the computation into the kernel"
            raise _Refusal(Feedback(Gate.LATENCY, "foreign-compute", summary, (), hint))
