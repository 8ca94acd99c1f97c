"""The gates in order: integrity, build, correctness, latency. The first refusal ends a verdict."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import msgspec

from kernelmill.backends.base import Backend, BuildFailed, Built, CandidateFailed, RuleFinding
from kernelmill.backends.inspection import Inspector
from kernelmill.judge.correctness import Correctness, failure_feedback
from kernelmill.judge.evidence import make_evidence
from kernelmill.judge.foreign_compute import foreign_compute
from kernelmill.judge.harness import Harness
from kernelmill.judge.hidden_sizes import with_secret_sizes
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.runner_handle import RunnerRaised
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.timing import REPEATS, TimedCallRefused
from kernelmill.records.candidate import Candidate
from kernelmill.records.verdict import (
    DeviceDiagnosis,
    Feedback,
    Gate,
    Latency,
    Modelled,
    Profile,
    Resources,
    Trial,
    Verdict,
)
from kernelmill.sandbox import SandboxFailure, Zygote

_BRIEF_REPEATS = 1
"""Repeats of a brief verdict, enough to replace disturbed rounds."""

MeasurementLock = Callable[[], AbstractContextManager[None]]
"""A lock held during timing, which keeps other work off the machine."""


class _Refusal(Exception):
    """A gate refuses the candidate."""

    def __init__(self, *feedback: Feedback) -> None:
        self.feedback = feedback
        super().__init__(*feedback)


class GatePipeline:
    """The gates of one verdict. Used once."""

    def __init__(
        self,
        backend: Backend,
        inspector: Inspector,
        zygote: Zygote,
        settings: JudgeSettings,
        harness: Harness[Any],
        measurement_lock: MeasurementLock,
    ) -> None:
        self._backend = backend
        self._inspector = inspector
        self._zygote = zygote
        self._settings = settings
        self._harness = harness
        self._measurement_lock = measurement_lock
        self._gate = Gate.INTEGRITY
        self._seconds: dict[str, float] = {}
        self._trials: tuple[Trial, ...] = ()
        self._latency: Latency | None = None
        self._profile: Profile | None = None
        self._diagnosis: DeviceDiagnosis | None = None
        self._modelled: Modelled | None = None
        self._resources = Resources()
        self._repeats = REPEATS

    def judge(
        self, candidate: Candidate, compiled: bool, brief: bool, objection: str = ""
    ) -> Verdict:
        self._repeats = _BRIEF_REPEATS if brief else REPEATS
        feedback: tuple[Feedback, ...] = ()
        try:
            with self._enter(Gate.INTEGRITY):
                self._inspect(candidate, objection)
            with self._enter(Gate.BUILD):
                built = self._build(candidate)
            self._run(candidate, built, compiled)
        except _Refusal as refusal:
            feedback = refusal.feedback
        self._harness.renew()
        return self._verdict(candidate, feedback)

    def _verdict(self, candidate: Candidate, feedback: tuple[Feedback, ...]) -> Verdict:
        return Verdict(
            task=self._harness.task.id,
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
            resources=self._resources,
            untried=self._harness.task.untried,
            degenerate=self._harness.task.degenerate,
            numerics=self._harness.task.numerics,
            seconds=self._seconds,
            evidence=make_evidence(
                self._harness.seeds,
                self._settings.threads,
                self._zygote.features.tier,
                self._backend.toolchain(),
                self._harness.clock,
                self._harness.device,
            ),
        )

    @contextmanager
    def _enter(self, gate: Gate) -> Iterator[None]:
        """Count the time of a gate, and turn failures of the candidate into refusals."""
        self._gate = gate
        start = time.perf_counter()
        try:
            yield
        except (SandboxFailure, RunnerRaised) as failure:
            feedback = msgspec.structs.replace(
                failure_feedback(failure, self._harness.exception_hints), gate=gate
            )
            raise _Refusal(feedback) from failure
        except CandidateFailed as failed:
            if isinstance(failed, BuildFailed):
                self._gate = Gate.BUILD  # some toolchains build for the shapes of a call
            raise _Refusal(
                Feedback(self._gate, failed.kind, failed.summary, failed.evidence, failed.hint)
            ) from failed
        finally:
            self._seconds[gate] = time.perf_counter() - start

    def _inspect(self, candidate: Candidate, objection: str) -> None:
        """Apply the static rules, then the objection of an auditor."""
        if self._settings.static_rules:
            self._refuse_findings(self._inspector.inspect_sources(candidate))
        if objection:
            hint = "do the work of the reference in the kernel, for whatever inputs it is given"
            raise _Refusal(Feedback(Gate.INTEGRITY, "audit", objection, (), hint))

    def _build(self, candidate: Candidate) -> Built:
        built = self._backend.build(candidate, self._zygote)
        if self._settings.static_rules:
            self._refuse_findings(self._inspector.inspect_build(candidate, built))
        task = with_secret_sizes(self._harness.task)
        return self._backend.compile_for(task, candidate, built, self._zygote)

    def _refuse_findings(self, findings: Iterable[RuleFinding]) -> None:
        feedback = [
            Feedback(self._gate, finding.rule, finding.what, (finding.where,), finding.instead)
            for finding in findings
        ]
        if feedback:
            raise _Refusal(*feedback)

    def _run(self, candidate: Candidate, built: Built, compiled: bool) -> None:
        with ExitStack() as stack:
            with self._enter(Gate.CORRECTNESS):
                runner = stack.enter_context(self._harness.spawn_runner(candidate, built))
                small = not self._backend.has_latency_gate
                outputs = self._require(self._harness.check(runner, small))
            if self._backend.has_latency_gate:
                with self._enter(Gate.LATENCY):
                    self._measure(runner, outputs, built, compiled)

    def _require(self, result: Correctness) -> list[OutputTensor]:
        """The outputs of trials that have all passed; refuse the candidate otherwise."""
        if self._gate is Gate.CORRECTNESS:
            self._trials = result.trials
        if result.feedback is not None:
            raise _Refusal(msgspec.structs.replace(result.feedback, gate=self._gate))
        return result.outputs

    def _measure(
        self, runner: Any, outputs: list[OutputTensor], built: Built, compiled: bool
    ) -> None:
        harness = self._harness
        harness.prepare(compiled)
        with self._measurement_lock():
            try:
                measurement = harness.measure(runner, outputs, built, compiled, self._repeats)
            except TimedCallRefused as refused:
                feedback = Feedback(Gate.LATENCY, refused.kind, str(refused), (), refused.hint)
                raise _Refusal(feedback) from refused
        latency, self._profile, self._diagnosis, self._modelled, self._resources = measurement
        self._check_profile(self._profile, latency.baseline_ms)
        self._require(harness.check_again(runner))
        self._latency = latency.on_degenerate_task() if harness.task.degenerate else latency
        if latency.candidate_ms < latency.floor_ms:
            summary = (
                f"{latency.candidate_ms:.4f} ms is less than moving its data takes, "
                f"{latency.floor_ms:.4f} ms"
            )
            raise _Refusal(Feedback(Gate.LATENCY, "too-fast", summary))

    def _check_profile(self, profile: Profile, baseline_ms: float) -> None:
        refusal = foreign_compute(profile, baseline_ms)
        if refusal is not None:
            raise _Refusal(refusal)
