"""The library API: the work of the command line as functions.

They raise a `KernelmillError` for whatever the caller can correct. See docs/library.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.backends.reading import read_candidate
from kernelmill.campaign import Ending, RunLimits, Watcher, run_campaign
from kernelmill.campaign.finals import BEST
from kernelmill.campaign.preflight import find_task
from kernelmill.campaign.starting import OpenCampaign, reopen_campaign, start_campaign
from kernelmill.generators.base import Declined
from kernelmill.generators.composer import Composer
from kernelmill.generators.model.model_specs import ModelSpec, resolve_models
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices import resolve_numerics
from kernelmill.judge.screening import Screening, screen
from kernelmill.records.campaign import Campaign, CampaignSettings, EventKind
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import TaskError, UsageError
from kernelmill.records.sweep import SweepSettings
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.report import CampaignSummary, summarise_campaign, write_page
from kernelmill.strategies.settings import parse_settings
from kernelmill.tasks import TaskFile, find_suite, load_suite
from kernelmill.tasks.loader import SkippedFile

DEFAULT_WORKSPACE = Path("kernelmill-workspace")
ROUNDS = JudgeSettings().rounds
LEAST_ROUNDS = 5
_REPORT = "report.html"


class RunResult(NamedTuple):
    """The outcome of one run of a campaign."""

    workspace: Path
    campaign: Campaign
    ending: Ending
    summary: CampaignSummary

    @property
    def report(self) -> Path:
        """The HTML page of the campaign."""
        return self.workspace / _REPORT

    @property
    def best(self) -> Path:
        """The folder with the fastest kernel of each backend and task."""
        return self.workspace / BEST

    @property
    def reason(self) -> str:
        """What the generator or the cost limit did not allow; empty where neither ended the run."""
        kinds = {
            Ending.OUT_OF_MONEY: EventKind.NO_MONEY,
            Ending.NO_GENERATOR: EventKind.NO_GENERATOR,
        }
        kind = kinds.get(self.ending)
        return next((one.text for one in reversed(self.summary.events) if one.kind is kind), "")


class _Example(NamedTuple):
    task: TaskFile
    candidate: Candidate


class TaskScreening(NamedTuple):
    """The screening of one task; None where the task is unusable, for `reason`."""

    task: str
    screening: Screening | None
    reason: str = ""


def _ignore(_task: str) -> None:
    pass


def verify(
    task: str | Path,
    candidate: str | Path | Candidate | Mapping[str, str],
    *,
    backend: str = "cpp",
    scale: str | None = None,
    numerics: str | None = None,
    threads: int | None = None,
    rounds: int = ROUNDS,
    compiled: bool = True,
    allow_unsandboxed: bool = False,
) -> Verdict:
    """Judge one candidate: integrity, build, correctness, latency.

    `task` is `suite/name` or a file in KernelBench's format. `candidate` is a folder, a file, or a
    mapping from file names to sources. `compiled` measures torch.compile as well as the baseline.
    `numerics` is what all sides are held to; by default the device's own.
    """
    target = get_backend(backend)
    target.demand_requirements()
    file, given = find_task(str(task)), _candidate(candidate, target)
    with _open_judge(target, threads, rounds, allow_unsandboxed) as judge:
        return judge.verify(judge.describe(file, scale, numerics), given, compiled)


def verify_examples(
    suite: str | Path,
    *,
    backend: str = "cpp",
    scale: str | None = None,
    numerics: str | None = None,
    threads: int | None = None,
    rounds: int = ROUNDS,
    compiled: bool = True,
    allow_unsandboxed: bool = False,
    progress: Callable[[str], None] = _ignore,
) -> Iterator[Verdict]:
    """Judge the examples that a backend ships for the tasks of a suite, one after the other.

    `progress` is called with the name of each task before it is judged.
    """
    target = get_backend(backend)
    target.demand_requirements()
    examples = list(_examples(load_suite(str(suite)), target))
    if not examples:
        raise UsageError(f"backend {target.name} ships no examples for {suite}: name a candidate")
    with _open_judge(target, threads, rounds, allow_unsandboxed) as judge:
        for file, candidate in examples:
            progress(file.id)
            yield judge.verify(judge.describe(file, scale, numerics), candidate, compiled)


def describe_suite(
    suite: str | Path, *, backend: str = "cpp", scale: str | None = None
) -> Iterator[Task | SkippedFile]:
    """Load the tasks of a suite in a sandbox: shapes, operators, hidden variants.

    A file of a folder that is no usable task is given with the reason; a single one raises
    TaskError.
    """
    found = find_suite(str(suite))
    yield from found.skipped
    if not found.tasks:
        return
    with Judge(get_backend(backend)) as judge:
        for file in found.tasks:
            try:
                described: Task | SkippedFile = judge.describe(file, scale)
            except TaskError as error:
                if len(found.tasks) + len(found.skipped) == 1:
                    raise
                described = SkippedFile(file.id, str(error), is_broken=True)
            yield described


def lower_tasks(tasks: Iterable[Task]) -> Iterator[str]:
    """What the composer makes kernels of, in readable form, for each task.

    Raises UsageError for a task that the composer declines.
    """
    with closing(Composer()) as composer:
        for task in tasks:
            try:
                yield composer.lowered(task)
            except Declined as declined:
                raise UsageError(f"{task.id}: {declined}") from declined


def screen_suite(
    suite: str | Path,
    *,
    scale: str | None = None,
    progress: Callable[[str], None] = _ignore,
) -> Iterator[TaskScreening]:
    """Find out which dishonest outputs the check of each task would let through, on a CPU."""
    found = find_suite(str(suite))
    for skipped in found.skipped:
        if skipped.is_broken:
            yield TaskScreening(skipped.name, None, skipped.reason)
    if not found.tasks:
        raise UsageError(f"{suite} holds no task")
    with Judge(get_backend("cpp")) as judge:
        for file in found.tasks:
            progress(file.id)
            try:
                result = TaskScreening(file.id, screen(judge, judge.describe(file, scale)))
            except TaskError as error:
                result = TaskScreening(file.id, None, str(error))
            yield result


def run(
    suites: str | Path | Iterable[str | Path],
    *,
    backend: str = "cpp",
    generator: str = "composer",
    strategy: str = "value",
    models: str | Sequence[str] | ModelSpec = (),
    budget: int = 30,
    workspace: str | Path = DEFAULT_WORKSPACE,
    seed: int = 0,
    max_minutes: float | None = None,
    max_usd: float | None = None,
    threads: int | None = None,
    scale: str | None = None,
    numerics: str | None = None,
    rounds: int = ROUNDS,
    compiled: bool = True,
    devices: Sequence[int] = (),
    allow_unsandboxed: bool = False,
    sweep: str = "",
    watcher: Watcher | None = None,
) -> RunResult:
    """Search for fast kernels with `budget` attempts per task; a workspace keeps everything.

    `models` are given as for `--model`: `[ROLE=]NAME[@ENDPOINT]`. A `ModelSpec` adds their
    endpoint, effort, file, audit and caching. `sweep` is given as for `--sweep`.
    """
    _demand_at_least("rounds", rounds, LEAST_ROUNDS)
    _demand_at_least("budget", budget, 1)
    _demand_at_least("seed", seed, 0)
    _demand_at_least("max_usd", max_usd, 0)
    target = get_backend(backend)
    settings = CampaignSettings(
        suites=tuple(map(str, [suites] if isinstance(suites, str | Path) else suites)),
        backend=backend,
        generator=generator,
        strategy=strategy,
        budget=budget,
        seed=seed,
        scale=scale or target.scale,
        numerics=resolve_numerics(target, numerics),
        threads=_threads(threads),
        compiled=compiled,
        allow_unsandboxed=allow_unsandboxed,
        max_usd=max_usd,
        rounds=rounds,
        devices=tuple(devices),
        models=resolve_models(_model_spec(models)),
        sweep=parse_settings(sweep, SweepSettings, "--sweep"),
    )
    watcher = watcher or Watcher()
    with start_campaign(settings, Path(workspace), watcher) as opened:
        return _run(opened, max_minutes, watcher)


def resume(
    workspace: str | Path = DEFAULT_WORKSPACE,
    *,
    campaign: int | None = None,
    budget: int | None = None,
    devices: Sequence[int] | None = None,
    max_minutes: float | None = None,
    max_usd: float | None = None,
    watcher: Watcher | None = None,
) -> RunResult:
    """Continue a campaign, by default the latest, whether it ended, was interrupted or killed.

    None leaves a setting as it was. `max_usd` includes what the campaign has cost so far.
    """

    def change(settings: CampaignSettings) -> CampaignSettings:
        return msgspec.structs.replace(
            settings,
            budget=settings.budget if budget is None else budget,
            devices=settings.devices if devices is None else tuple(devices),
            max_usd=settings.max_usd if max_usd is None else max_usd,
        )

    _demand_at_least("budget", budget, 1)
    _demand_at_least("max_usd", max_usd, 0)
    with reopen_campaign(Path(workspace), campaign, change) as opened:
        return _run(opened, max_minutes, watcher or Watcher())


def _run(opened: OpenCampaign, max_minutes: float | None, watcher: Watcher) -> RunResult:
    workspace, campaign, components = opened
    limits = RunLimits(campaign.settings.max_usd, max_minutes)
    ending = run_campaign(workspace, campaign, components, limits, watcher)
    result = RunResult(workspace.folder, campaign, ending, summarise_campaign(workspace, campaign))
    write_page(result.summary, result.report)
    return result


def _open_judge(
    backend: Backend, threads: int | None, rounds: int, allow_unsandboxed: bool
) -> Judge:
    _demand_at_least("rounds", rounds, LEAST_ROUNDS)
    settings = JudgeSettings(
        threads=_threads(threads), rounds=rounds, allow_unsandboxed=allow_unsandboxed
    )
    return Judge(backend, settings)


def _threads(threads: int | None) -> int:
    _demand_at_least("threads", threads, 1)
    return JudgeSettings().threads if threads is None else threads


def _demand_at_least(name: str, value: float | None, least: float) -> None:
    if value is not None and value < least:
        raise UsageError(f"{name} is {value}, and must be at least {least}")


def _model_spec(models: str | Sequence[str] | ModelSpec) -> ModelSpec:
    if isinstance(models, ModelSpec):
        return models
    return ModelSpec((models,) if isinstance(models, str) else tuple(models))


def _candidate(given: str | Path | Candidate | Mapping[str, str], backend: Backend) -> Candidate:
    if isinstance(given, Candidate):
        return given
    if isinstance(given, Mapping):
        return Candidate(dict(given), Origin.FILE, "the candidate")
    path = Path(given)
    shipped = path.resolve().is_relative_to(backend.examples().resolve())
    return read_candidate(path, Origin.SHIPPED if shipped else Origin.FILE, backend.entry)


def _examples(tasks: Iterable[TaskFile], backend: Backend) -> Iterator[_Example]:
    for task in tasks:
        folder = backend.examples() / task.id
        if folder.is_dir():
            yield _Example(task, read_candidate(folder, Origin.SHIPPED))
