"""The figures of a campaign, read from its workspace."""

import itertools
import statistics
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from kernelmill.records.attempt import Attempt, AttemptOutcome, State, VerdictKind
from kernelmill.records.campaign import (
    Campaign,
    CampaignTask,
    Effort,
    Event,
    Failure,
    Spending,
    Totals,
)
from kernelmill.records.verdict import Evidence, Latency, Verdict
from kernelmill.report.curves import Curve, LearningCurves, campaign_curves, fast_p
from kernelmill.report.pareto import Front, pareto_fronts
from kernelmill.report.sweeps import SweepSummary, summarise_sweeps
from kernelmill.workspace import Workspace

_MOST_FAILURES = 3


class Improvement(msgspec.Struct, frozen=True):
    """An attempt that was better than all attempts before it."""

    number: int
    ratio: float


class TaskSummary(msgspec.Struct, frozen=True):
    name: str
    attempts: int
    passed: int
    solved_at: int | None
    """The number of the first attempt that passed."""
    set_aside: str | None
    champion: int | None
    latency: Latency | None
    """The champion's latency, from its final measurement where there is one."""
    evidence: Evidence | None
    trajectory: tuple[Improvement, ...]
    lineage: tuple[Attempt, ...]
    """The champion and its ancestors, the first ancestor first."""
    family: str = ""
    inputs: tuple[str, ...] = ()
    """Types and shapes of the shown inputs."""
    failures: tuple[Failure, ...] = ()
    """Of a task that is not solved: why its attempts failed, the most frequent reason first."""
    effort: Effort | None = None

    @property
    def speed_of_light(self) -> float | None:
        """The champion's latency floor as a share of its latency; None where nothing is known."""
        latency = self.latency
        if latency is None or latency.candidate_ms <= 0:
            return None
        floor = max(latency.floor_ms, latency.arithmetic_ms)
        return floor / latency.candidate_ms if floor > 0 else None

    @property
    def outcome(self) -> str:
        """`faster`, `even`, `slower` or `degenerate`; `correct` where nothing was timed; of an
        unsolved task, why it is unsolved."""
        if self.latency is not None:
            return self.latency.over_baseline.verdict
        if self.set_aside:
            return "set aside"
        if self.passed:
            return "correct"
        return "unsolved" if self.attempts else "not tried"


class Speedups(msgspec.Struct, frozen=True):
    """Ratios of several champions to one baseline."""

    tasks: int
    geometric_mean: float
    median: float
    low: float
    """A tenth of the ratios are at most this."""
    high: float
    """A tenth of the ratios are at least this."""

    @classmethod
    def of(cls, ratios: list[float]) -> "Speedups | None":
        if not ratios:
            return None
        ordered = sorted(ratios)
        tail = len(ordered) // 10
        return cls(
            len(ordered),
            statistics.geometric_mean(ordered),
            statistics.median(ordered),
            ordered[tail],
            ordered[-1 - tail],
        )

    def __str__(self) -> str:
        return f"geomean {self.geometric_mean:.2f}x, median {self.median:.2f}x"


class FamilySummary(msgspec.Struct, frozen=True):
    """The tasks of one family."""

    family: str
    tasks: int
    solved: int
    faster: int
    over_baseline: Speedups | None


class CampaignSummary(msgspec.Struct, frozen=True):
    campaign: Campaign
    totals: Totals
    tasks: tuple[TaskSummary, ...]
    events: tuple[Event, ...]
    spending: tuple[Spending, ...]
    """Empty where no model was called."""
    curves: LearningCurves = LearningCurves((), ())
    sources: dict[str, dict[str, str]] = {}
    """The files of each champion, by task."""
    sweeps: SweepSummary = SweepSummary()
    fronts: tuple[Front, ...] = ()
    """Pareto fronts of speed and memory, or energy, where there is a choice."""

    @property
    def families(self) -> list[FamilySummary]:
        names = sorted({task.family for task in self.tasks if task.family})
        return [self._family(name) for name in names]

    def _family(self, name: str) -> FamilySummary:
        tasks = [task for task in self.tasks if task.family == name]
        latencies = [task.latency for task in tasks if task.latency is not None]
        return FamilySummary(
            name,
            len(tasks),
            sum(task.champion is not None for task in tasks),
            sum(latency.over_baseline.verdict == "faster" for latency in latencies),
            Speedups.of([latency.over_baseline.ratio for latency in latencies]),
        )

    @property
    def fast_p(self) -> tuple[Curve, ...]:
        """Against the baseline, and against torch.compile where that was measured."""
        count = len(self.tasks)
        baseline = [latency.over_baseline.ratio for latency in self.latencies]
        compiled = [latency.over_compile for latency in self.latencies]
        ratios = [interval.ratio for interval in compiled if interval is not None]
        name = next((latency.baseline for latency in self.latencies), "baseline")
        curves = [replace(fast_p(baseline, count), name=f"over {name}")]
        if ratios:
            curves.append(replace(fast_p(ratios, count), name="over torch.compile"))
        return tuple(curves)

    @property
    def seconds(self) -> float:
        """Time of the judge, with its waiting."""
        return self.totals.wait_seconds + self.totals.measure_seconds

    @property
    def solved(self) -> list[TaskSummary]:
        return [task for task in self.tasks if task.champion is not None]

    @property
    def latencies(self) -> list[Latency]:
        return [task.latency for task in self.tasks if task.latency is not None]

    @property
    def faster(self) -> int:
        """The number of champions that are faster than their baseline."""
        return sum(latency.over_baseline.verdict == "faster" for latency in self.latencies)

    @property
    def over_baseline(self) -> Speedups | None:
        return Speedups.of([latency.over_baseline.ratio for latency in self.latencies])

    @property
    def over_compile(self) -> Speedups | None:
        intervals = [latency.over_compile for latency in self.latencies]
        return Speedups.of([interval.ratio for interval in intervals if interval is not None])

    @property
    def evidence(self) -> Evidence | None:
        return next((t.evidence for t in self.tasks if t.evidence is not None), None)


def summarise_campaign(workspace: Workspace, campaign: Campaign) -> CampaignSummary:
    outcomes = {
        task: list(group)
        for task, group in itertools.groupby(workspace.outcomes(campaign), lambda o: o.task)
    }
    efforts = workspace.efforts(campaign)
    tasks = tuple(
        replace(
            _task_summary(workspace, entry, outcomes.get(entry.task or -1, [])),
            effort=efforts.get(entry.task or -1),
            failures=_failures(workspace, campaign, entry),
        )
        for entry in workspace.tasks(campaign)
    )
    totals = workspace.totals(campaign)
    events, spending = workspace.events(campaign), workspace.spending(campaign)
    return CampaignSummary(
        campaign,
        totals,
        tasks,
        tuple(events),
        tuple(spending),
        campaign_curves(workspace, campaign),
        {task.name: _source(workspace, task.champion) for task in tasks if task.champion},
        summarise_sweeps(workspace, campaign),
        pareto_fronts(workspace, campaign),
    )


def _source(workspace: Workspace, champion: int) -> dict[str, str]:
    candidate = workspace.candidate(workspace.attempt(champion))
    return {} if candidate is None else candidate.files


def _task_summary(
    workspace: Workspace, entry: CampaignTask, outcomes: list[AttemptOutcome]
) -> TaskSummary:
    passed = [outcome for outcome in outcomes if outcome.state == State.PASSED]
    verdict = _last_verdict(workspace, entry.champion)
    lineage = () if entry.champion is None else workspace.lineage(workspace.attempt(entry.champion))
    return TaskSummary(
        name=entry.name,
        attempts=len(outcomes),
        passed=len(passed),
        solved_at=passed[0].number if passed else None,
        set_aside=entry.set_aside,
        champion=entry.champion,
        latency=None if verdict is None else verdict.latency,
        evidence=None if verdict is None else verdict.evidence,
        trajectory=tuple(_trajectory(passed)),
        lineage=tuple(lineage),
        family="" if entry.described is None else entry.described.family,
        inputs=_inputs(entry),
    )


def _inputs(entry: CampaignTask) -> tuple[str, ...]:
    return () if entry.described is None else tuple(map(str, entry.described.shown.tensors))


def _failures(workspace: Workspace, campaign: Campaign, entry: CampaignTask) -> tuple[Failure, ...]:
    if entry.champion is not None or entry.task is None:
        return ()
    return tuple(workspace.failures(campaign, entry.task, _MOST_FAILURES))


def _last_verdict(workspace: Workspace, champion: int | None) -> Verdict | None:
    if champion is None:
        return None
    final = workspace.verdict(champion, VerdictKind.FINAL)
    return final if final is not None and final.passed else workspace.verdict(champion)


def _trajectory(passed: list[AttemptOutcome]) -> Iterator[Improvement]:
    best = 0.0
    for outcome in passed:
        if outcome.ratio is not None and outcome.ratio > best:
            best = outcome.ratio
            yield Improvement(outcome.number, best)
