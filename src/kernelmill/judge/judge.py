"""The judge as a library: one warm process, a bench per task, a verdict per candidate."""

import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from kernelmill.backends.base import Backend, BuildFailed
from kernelmill.candidate import Candidate
from kernelmill.errors import CandidateError, IsolationError, TaskError
from kernelmill.judge.bench import Bench
from kernelmill.judge.devices import device_of
from kernelmill.judge.gates import Passage, Quiet
from kernelmill.judge.hidden_sizes import with_drawn_sizes
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import ReferenceLost
from kernelmill.judge.verdict import Verdict
from kernelmill.sandbox import Tier, Zygote, ZygoteLost
from kernelmill.tasks import prober
from kernelmill.tasks.loader import TaskFile
from kernelmill.tasks.task import Task

_DISTURBANCES = 3
"""How often a verdict is begun when something other than the candidate fails."""


class Judge:
    """Judges candidates for one backend. Not for use from several threads at once."""

    def __init__(
        self, backend: Backend, settings: Settings | None = None, quiet: Quiet = nullcontext
    ) -> None:
        """`quiet` is entered while the clock runs, for callers who have other work going on."""
        self.backend = backend
        self.settings = settings or Settings()
        self._quiet = quiet
        self._device = device_of(backend)
        modules = (*backend.zygote_modules, *prober.MODULES, *self._device.modules)
        number = self.settings.device
        environment = {} if number is None else self._device.chosen(number)
        self.zygote = Zygote(modules, self.settings.threads, environment)
        self._leaving = ExitStack()
        self._open_bench = self._device.benches(backend, self.zygote, self.settings, self._leaving)
        self._benches: dict[str, Bench[Any]] = {}
        self.room: int | None = None
        """For how many tasks it stays ready, as it was seen last; None where it was never full."""

    @property
    def tier(self) -> Tier:
        return self.zygote.features.tier

    def is_ready_for(self, task: Task) -> bool:
        """Whether a bench for it is there from an earlier verdict."""
        return task.digest in self._benches

    def describe(self, file: TaskFile, scale: str | None = None) -> Task:
        """Load a task file in a cell, at the scale that suits the backend. Raises TaskError."""
        where, scale = self._device, scale or self.backend.scale
        return prober.describe_task(self.zygote, file, scale, where.framework, where.files())

    def verify(
        self,
        task: Task,
        candidate: Candidate,
        compiled: bool = False,
        brief: bool = False,
        objection: str = "",
    ) -> Verdict:
        """Put one candidate through the gates; `compiled` adds torch.compile as a baseline.

        A `brief` verdict leaves a close call between candidate and eager open. An `objection` of
        an auditor ends the way at the gate of integrity.

        Raises TaskError, BackendUnavailable, IsolationError, or CandidateError for what is no
        candidate of this backend; whatever else is wrong with the candidate is in the verdict.
        """
        self._demand_entry(candidate)
        self._demand_isolation(candidate)
        for _ in range(_DISTURBANCES):
            try:
                return self._verify(task, candidate, compiled, brief, objection)
            except (ReferenceLost, ZygoteLost) as error:
                lost = error  # the bench is gone with it; a new one may do better
                self._close_benches()
        raise TaskError(f"{task.id}: the reference fails again and again: {lost}") from lost

    def build_ahead(self, task: Task, candidate: Candidate) -> bool:
        """Leave in the backend's cache what `verify` would build. May be called from any thread.

        Returns whether the rules let it through and it builds.

        Raises BackendUnavailable, IsolationError or CandidateError; what else is wrong with the
        candidate is left for `verify` to say.
        """
        self._demand_entry(candidate)
        self._demand_isolation(candidate)
        if self.settings.static_rules and self.backend.inspect_sources(candidate):
            return False
        with suppress(BuildFailed, ZygoteLost):
            built = self.backend.build(candidate, self.zygote)
            self.backend.compile_for(with_drawn_sizes(task), candidate, built, self.zygote)
            return True
        return False

    def bench(self, task: Task) -> Bench[Any]:
        """A fresh bench for a task; the caller closes it."""
        return self._open_bench(task)

    def close(self) -> None:
        self._close_benches()
        self._leaving.close()
        self.zygote.close()

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _verify(
        self, task: Task, candidate: Candidate, compiled: bool, brief: bool, objection: str
    ) -> Verdict:
        with self._borrowed_bench(task) as bench:
            passage = Passage(self.backend, self.zygote, self.settings, bench, self._quiet)
            return passage.judge(candidate, compiled, brief, objection)

    def _demand_entry(self, candidate: Candidate) -> None:
        if self.backend.entry not in candidate.files:
            name, entry = candidate.name or "the candidate", self.backend.entry
            raise CandidateError(f"{name} has no {entry}, which {self.backend.name} begins with")

    def _demand_isolation(self, candidate: Candidate) -> None:
        if self.tier >= Tier.PARTIAL or candidate.origin.ours or self.settings.allow_unsandboxed:
            return
        raise IsolationError(
            f"this machine grants only {self.tier} isolation, and a candidate from a "
            f"{candidate.origin} needs partial: see `kernelmill doctor`, or accept the risk with "
            "--allow-unsandboxed"
        )

    @contextmanager
    def _borrowed_bench(self, task: Task) -> Iterator[Bench[Any]]:
        """The bench of a task; it is thrown away if anything unexpected happens on it."""
        bench = self._benches.pop(task.digest, None) or self._bench_with_room(task)
        try:
            yield bench
        except BaseException:
            bench.close()
            raise
        self._benches[task.digest] = bench
        self._clear_up()

    def _clear_up(self) -> None:
        """The oldest benches go until there is room for the others."""
        before = len(self._benches)
        while len(self._benches) > 1 and self._over_full():
            self._benches.pop(next(iter(self._benches))).close()
        kept = len(self._benches)
        if kept < before or (self.room is not None and kept > self.room):
            self.room = kept

    def _bench_with_room(self, task: Task) -> Bench[Any]:
        """A fresh bench. One that does not come up may only have lacked the memory of others."""
        try:
            return self.bench(task)
        except (TaskError, ReferenceLost):
            if not self._benches:
                raise
        self.room = len(self._benches)
        self._close_benches()
        return self.bench(task)

    def _close_benches(self) -> None:
        for bench in self._benches.values():
            bench.close()
        self._benches.clear()

    def _over_full(self) -> bool:
        benches = self._benches.values()
        held = sum(bench.bytes for bench in benches)
        files = sum(bench.files for bench in benches)
        return held > min(bench.most_bytes for bench in benches) or files > _most_files()


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
