"""The judge: one zygote, a harness per task, a verdict per candidate."""

import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from kernelmill.backends.base import Backend, BuildFailed
from kernelmill.backends.inspection import Inspector, inspection_modules
from kernelmill.judge.devices import get_device
from kernelmill.judge.harness import Harness
from kernelmill.judge.hidden_sizes import with_secret_sizes
from kernelmill.judge.pipeline import GatePipeline, MeasurementLock
from kernelmill.judge.runner_handle import ReferenceLost, RunnerRaised
from kernelmill.judge.settings import JudgeSettings
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import CandidateError, IsolationError, TaskError
from kernelmill.records.numerics import choose_numerics
from kernelmill.records.task import Task
from kernelmill.records.verdict import FIRST_FEASIBLE, Verdict
from kernelmill.sandbox import SandboxFailure, Tier, Zygote, ZygoteLost
from kernelmill.tasks import prober
from kernelmill.tasks.loader import TaskFile

_TRIES = 3
"""How often a verdict is tried when something other than the candidate fails."""


_Result = TypeVar("_Result")


class Judge:
    """Judges candidates for one backend. Not for use from several threads at once."""

    def __init__(
        self,
        backend: Backend,
        settings: JudgeSettings | None = None,
        measurement_lock: MeasurementLock = nullcontext,
    ) -> None:
        """`measurement_lock` is held during timing, so that callers can pause other work."""
        self.backend = backend
        self.settings = settings or JudgeSettings()
        self._measurement_lock = measurement_lock
        self.device = get_device(backend)
        modules = (
            *backend.zygote_modules, *inspection_modules(backend), *prober.MODULES,
            *self.device.modules,
        )  # fmt: skip
        number = self.settings.device
        environment = {} if number is None else self.device.environment(number)
        self.zygote = Zygote(modules, self.settings.threads, environment)
        self._inspector = Inspector(backend, self.zygote)
        self._resources = ExitStack()
        self._open_harness = self.device.harness_factory(
            backend, self.zygote, self.settings, self._resources
        )
        self._harnesses: dict[str, Harness[Any]] = {}
        self._first_feasible: dict[str, Verdict] = {}
        """The first verdict on a task that has no other baseline, by the task's digest."""
        self.ready_task_limit: int | None = None
        """Number of tasks it stays ready for, as last observed; None while it was never full."""

    @property
    def tier(self) -> Tier:
        return self.zygote.features.tier

    def is_ready_for(self, task: Task) -> bool:
        """Whether it still has the harness of an earlier verdict on the task."""
        return task.digest in self._harnesses

    def describe(
        self, file: TaskFile, scale: str | None = None, numerics: str | None = None
    ) -> Task:
        """Load a task file in a sandbox, by default at the scale that suits the backend and with
        the numerics of the device. Raises TaskError, or UsageError for unknown numerics."""
        device, scale = self.device, scale or self.backend.scale
        held_to = choose_numerics(numerics, device.numerics, device.name)
        return prober.describe_task(
            self.zygote, file, scale, held_to, device.framework, device.device_files()
        )

    def verify(
        self,
        task: Task,
        candidate: Candidate,
        compiled: bool = False,
        brief: bool = False,
        objection: str = "",
    ) -> Verdict:
        """Put one candidate through the gates.

        `compiled` adds torch.compile as a baseline. A `brief` verdict takes fewer rounds, and may
        leave open which of two close kernels is faster. An `objection` of an auditor refuses the
        candidate at the integrity gate.

        Raises TaskError, BackendUnavailable, IsolationError, or CandidateError for files that are
        no candidate of this backend. Everything else that is wrong with a candidate is in the
        verdict.
        """
        self._demand_entry(candidate)
        self._demand_isolation(candidate)
        verdict = self._retry(
            task, lambda: self._verify(task, candidate, compiled, brief, objection)
        )
        self.restore(task, verdict)
        return verdict

    def get_ready(self, task: Task) -> None:
        """Make the cases of a task and find its baseline, ahead of its first verdict.

        Raises TaskError where the task cannot be judged.
        """
        self._retry(task, lambda: self._prepare(task))

    def restore(self, task: Task, verdict: Verdict) -> None:
        """Rate later candidates as in this verdict, if that was against the first feasible one."""
        latency = verdict.latency
        if verdict.passed and latency is not None and latency.baseline == FIRST_FEASIBLE:
            self._first_feasible.setdefault(task.digest, verdict)

    def _retry(self, task: Task, work: Callable[[], _Result]) -> _Result:
        for _ in range(_TRIES):
            try:
                return work()
            except (ReferenceLost, ZygoteLost) as error:
                lost = error
                self._close_harnesses()
        raise TaskError(f"{task.id}: the reference failed {_TRIES} times: {lost}") from lost

    def _prepare(self, task: Task) -> None:
        with self._leased_harness(task) as harness:
            harness.prepare(compiled=False)

    def build_ahead(self, task: Task, candidate: Candidate) -> bool:
        """Build into the backend's cache what `verify` will need. May be called from any thread.

        Returns whether the static rules accept the candidate and it builds.

        Raises BackendUnavailable, IsolationError or CandidateError. Everything else that is wrong
        with the candidate is left for `verify` to report.
        """
        self._demand_entry(candidate)
        self._demand_isolation(candidate)
        with suppress(BuildFailed, ZygoteLost):
            if self.settings.static_rules and self._inspector.inspect_sources(candidate):
                return False
            built = self.backend.build(candidate, self.zygote)
            self.backend.compile_for(with_secret_sizes(task), candidate, built, self.zygote)
            return True
        return False

    def harness(self, task: Task) -> Harness[Any]:
        """A new harness for a task; the caller closes it. Raises TaskError.

        No candidate runs in a new harness, so whatever fails in it is the reference's doing.
        """
        try:
            return self._open_harness(task)
        except (SandboxFailure, RunnerRaised) as error:
            raise TaskError(f"{task.id}: the reference does not run: {error}") from error

    def close(self) -> None:
        self._close_harnesses()
        self._resources.close()
        self._inspector.close()
        self.zygote.close()

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _verify(
        self, task: Task, candidate: Candidate, compiled: bool, brief: bool, objection: str
    ) -> Verdict:
        with self._leased_harness(task) as harness:
            pipeline = GatePipeline(
                self.backend,
                self._inspector,
                self.zygote,
                self.settings,
                harness,
                self._measurement_lock,
            )
            return pipeline.judge(candidate, compiled, brief, objection)

    def _demand_entry(self, candidate: Candidate) -> None:
        if self.backend.entry not in candidate.files:
            name, entry = candidate.name or "the candidate", self.backend.entry
            raise CandidateError(
                f"{name} has no {entry}, which every candidate of {self.backend.name} needs"
            )

    def _demand_isolation(self, candidate: Candidate) -> None:
        if self.tier >= Tier.PARTIAL or candidate.origin.trusted or self.settings.allow_unsandboxed:
            return
        raise IsolationError(
            f"this machine grants only {self.tier} isolation, and a candidate from a "
            f"{candidate.origin} needs partial: see `kernelmill doctor`, or accept the risk with "
            "--allow-unsandboxed"
        )

    @contextmanager
    def _leased_harness(self, task: Task) -> Iterator[Harness[Any]]:
        """The harness of a task, which is discarded if the verdict raises."""
        ready = self._harnesses.pop(task.digest, None)
        self._make_room(task)
        harness = ready or self._new_harness(task)
        if task.digest in self._first_feasible:
            harness.restore(self._first_feasible[task.digest])
        try:
            yield harness
        except BaseException:
            harness.close()
            raise
        self._harnesses[task.digest] = harness
        self._evict()

    def _evict(self) -> None:
        """Close the oldest harnesses until the others fit."""
        before = len(self._harnesses)
        while len(self._harnesses) > 1 and self._exceeds_capacity():
            self._harnesses.pop(next(iter(self._harnesses))).close()
        kept = len(self._harnesses)
        if kept < before or (self.ready_task_limit is not None and kept > self.ready_task_limit):
            self.ready_task_limit = kept

    def _make_room(self, task: Task) -> None:
        """Close the oldest harnesses until a verdict on this task fits beside the others."""
        needed = self.device.bytes_needed(task)
        while self._harnesses and self._would_exceed(needed):
            self._harnesses.pop(next(iter(self._harnesses))).close()

    def _would_exceed(self, needed: int) -> bool:
        harnesses = self._harnesses.values()
        totals = [one.total_bytes for one in harnesses if one.total_bytes is not None]
        held = sum(one.held_bytes for one in harnesses)
        return bool(totals) and held + needed > min(totals)

    def _new_harness(self, task: Task) -> Harness[Any]:
        """A new harness; where it fails, once more after all others have released their memory."""
        try:
            return self.harness(task)
        except (TaskError, ReferenceLost):
            if not self._harnesses:
                raise
        self.ready_task_limit = len(self._harnesses)
        self._close_harnesses()
        return self.harness(task)

    def _close_harnesses(self) -> None:
        for harness in self._harnesses.values():
            harness.close()
        self._harnesses.clear()

    def _exceeds_capacity(self) -> bool:
        harnesses = self._harnesses.values()
        held = sum(harness.held_bytes for harness in harnesses)
        files = sum(harness.open_files for harness in harnesses)
        capacity = min(harness.capacity_bytes for harness in harnesses)
        return held > capacity or files > _file_capacity()


def _file_capacity() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
