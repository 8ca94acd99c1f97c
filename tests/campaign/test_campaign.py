"""Campaigns with a real judge and compiler, and recorded candidates."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend
from kernelmill.campaign import (
    Components,
    Ending,
    RunLimits,
    Watcher,
    measurement_lock,
    run_campaign,
)
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.campaign.replay import ReplayGenerator
from kernelmill.generators.base import Generator
from kernelmill.generators.composer import Composer
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.attempt import Attempt, State, VerdictKind
from kernelmill.records.campaign import Campaign, Totals
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError, GeneratorUnavailable, TaskError
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Draft, Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]
WRONG = KERNEL.replace("2 *", "3 *")
SLOW = KERNEL.replace(
    "    for (int64_t c",
    "  for (volatile int again = 0; again < 400; again = again + 1)\n    for (int64_t c",
)
BROKEN = KERNEL.replace("#pragma", "pragma")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small tasks; recordings of an honest, a wrong and a broken kernel for the first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.py").write_text(TASK)
    (tmp_path / "two.py").write_text(TASK.replace("rows = 64", "rows = 32"))
    for task, name, kernel in (
        ("one", "honest", KERNEL), ("one", "wrong", WRONG), ("one", "broken", BROKEN),
        ("two", "honest", KERNEL),
    ):  # fmt: skip
        folder = tmp_path / "recorded" / task / name
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(MODEL)
        (folder / "kernel.cpp").write_text(kernel)
    return tmp_path


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace(home / "workspace", create=True)


def begin(judge: Judge, workspace: Workspace, home: Path, budget: int = 2) -> Campaign:
    entries = find_tasks((str(home / "one.py"), str(home / "two.py")))
    tasks = list(describe_tasks(judge, entries, "cpu"))
    return workspace.create_campaign(msgspec.structs.replace(SETTINGS, budget=budget), tasks)


def components(judge: Judge, generator: Generator, strategy: str = "refine") -> Components:
    return Components((judge,), generator, get_strategy(strategy))


def test_recordings_are_tried_in_turn_and_the_best_is_kept(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home, budget=5)
    replay = ReplayGenerator(str(home / "recorded"))
    ending = run_campaign(workspace, campaign, components(judge, replay), RunLimits(), Watcher())
    assert ending is Ending.COMPLETE
    one, two = workspace.tasks(campaign)
    first = workspace.attempts(campaign, 1)
    states = sorted(attempt.state for attempt in first)
    assert states == [State.DECLINED, State.PASSED, State.REFUSED, State.REFUSED]
    assert first[-1].state is State.DECLINED
    assert {a.gate for a in first if a.state is State.REFUSED} == {"build", "correctness"}
    # After the same decline the generator is not asked again, and the attempt is not counted.
    assert one.set_aside is not None and one.set_aside.startswith("declined: all recordings")
    assert [a.state for a in workspace.attempts(campaign, 2)] == [State.PASSED, State.DECLINED]
    assert one.champion is not None and two.champion is not None
    champion = workspace.attempt(one.champion)
    # There was no champion to beat.
    assert workspace.verdict(one.champion, VerdictKind.CONFIRMING) is None
    assert (workspace.folder / "best" / "cpp" / "one" / "kernel.cpp").read_text() == KERNEL
    assert (workspace.folder / "best" / "cpp" / "two" / "verdict.json").is_file()
    later = [a for a in first if a.number > champion.number]
    assert all(a.parent == champion.id and a.stage is Stage.REFINE for a in later)


def test_an_attempt_that_beats_the_champion_is_judged_twice(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home, budget=2)
    run_campaign(workspace, campaign, components(judge, SlowFirst()), RunLimits(), Watcher())
    for entry in workspace.tasks(campaign):
        slow, fast = workspace.attempts(campaign, entry.task or 0)
        assert entry.champion == fast.id
        assert workspace.verdict(slow.id, VerdictKind.CONFIRMING) is None
        confirmed = workspace.verdict(fast.id, VerdictKind.CONFIRMING)
        assert confirmed is not None and confirmed.latency is not None
        assert fast.ratio == confirmed.latency.over_baseline.ratio


class TwoDrafts(RunLimits):
    """The time limit is reached when two drafts have been written."""

    written = 0

    def count(self, _proposal: Proposal) -> None:
        self.written += 1

    @property
    def seconds_left(self) -> float:
        return 0.0 if self.written >= 2 else 1.0


@pytest.mark.parametrize(
    ("budget", "ending"),
    [(1, Ending.COMPLETE), (20, Ending.OUT_OF_TIME)],
    ids=str,
)
@pytest.mark.slow
def test_torch_compile_joins_in_the_end(
    budget: int, ending: Ending, judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home, budget=budget)
    settings = msgspec.structs.replace(campaign.settings, compiled=True)
    campaign = workspace.change_settings(campaign, settings)
    limits = RunLimits() if ending is Ending.COMPLETE else TwoDrafts()
    generator = Fixed(before=limits.count if isinstance(limits, TwoDrafts) else None)
    assert (
        run_campaign(workspace, campaign, components(judge, generator), limits, Watcher()) is ending
    )
    for entry in workspace.tasks(campaign):
        assert entry.champion is not None
        final = workspace.verdict(entry.champion, VerdictKind.FINAL)
        assert final is not None and final.latency is not None
        assert final.latency.over_compile is not None


class Fixed(Generator):
    """The honest kernel with a new comment each time, at a cost, after calling `before`."""

    name = "fixed"

    def __init__(
        self, cost: float | None = 0.0, before: Callable[[Proposal], None] | None = None
    ) -> None:
        self._cost = cost
        self._before = before

    def write(self, proposal: Proposal) -> Draft:
        if self._before is not None:
            self._before(proposal)
        files = {"model.py": MODEL, "kernel.cpp": f"{KERNEL}// {proposal.seed}\n"}
        call = ModelCall("generator", "scripted", cost_usd=self._cost)
        return Draft(Candidate(files, Origin.FILE), calls=(call,))

    def check(self, backend: str) -> None:
        pass


class SlowFirst(Generator):
    """The honest kernel; as a first draft it repeats its work."""

    name = "slow-first"

    def write(self, proposal: Proposal) -> Draft:
        kernel = KERNEL if proposal.parent is not None else SLOW
        return Draft(Candidate({"model.py": MODEL, "kernel.cpp": kernel}, Origin.FILE))

    def check(self, backend: str) -> None:
        pass


def test_the_cost_limit_is_hard(judge: Judge, workspace: Workspace, home: Path) -> None:
    campaign = begin(judge, workspace, home, budget=3)
    limits = RunLimits(max_usd=0.25)
    ending = run_campaign(workspace, campaign, components(judge, Fixed(0.1)), limits, Watcher())
    assert ending is Ending.OUT_OF_MONEY
    totals = workspace.totals(campaign)
    assert (totals.done, totals.claimed) == (2, 0)
    assert totals.known_usd == pytest.approx(0.2)


def test_an_unknown_cost_ends_it_after_one_draft(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home)
    limits = RunLimits(max_usd=5.0)
    ending = run_campaign(workspace, campaign, components(judge, Fixed(None)), limits, Watcher())
    assert ending is Ending.PRICE_UNKNOWN
    assert workspace.totals(campaign).unpriced == 1


class Interrupting(Watcher):
    def __init__(self, limits: RunLimits) -> None:
        self._limits = limits
        self.left = -1

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        if attempt.id == 1:
            self._limits.interrupt()

    def stopping(self, in_flight: int) -> None:
        self.left = in_flight


def test_an_interrupt_finishes_what_is_under_way_and_resuming_does_the_rest(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home, budget=3)
    limits = RunLimits()
    watcher = Interrupting(limits)
    ending = run_campaign(workspace, campaign, components(judge, Fixed()), limits, watcher)
    assert ending is Ending.INTERRUPTED
    totals = workspace.totals(campaign)
    assert (totals.done, totals.claimed, watcher.left) == (2, 0, 1)
    ending = run_campaign(workspace, campaign, components(judge, Fixed()), RunLimits(), Watcher())
    assert ending is Ending.COMPLETE
    assert workspace.totals(campaign).done == 6


def test_a_generator_that_fails_leaves_nothing_claimed(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    def fail(proposal: Proposal) -> None:
        if proposal.task.id == "two":
            raise GeneratorUnavailable("it is gone")

    campaign = begin(judge, workspace, home)
    failing = components(judge, Fixed(before=fail))
    ending = run_campaign(workspace, campaign, failing, RunLimits(), Watcher())
    assert ending is Ending.NO_GENERATOR
    assert workspace.totals(campaign).claimed == 0


class Unsayable(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


FAILURES: dict[str, tuple[BaseException, str]] = {
    "too large": (CandidateError("one: more than 2 MiB of source"), "more than 2 MiB"),
    "a bug": (KeyError("tile"), "the generator failed: KeyError: 'tile' (test_campaign.py, line"),
    "a task's error": (TaskError("no such task"), "no such task"),
    "too deep": (RecursionError("maximum recursion depth"), "RecursionError"),
    "memory": (MemoryError(), "the generator failed: MemoryError"),
    "control characters": (ValueError("a\x1b[2J\nb" * 1000), "ValueError: a\ufffd[2J b"),
    "without words": (Unsayable(), "the generator failed: Unsayable"),
}


class Failing(Fixed):
    """Fails on every task but the second, in another way on each."""

    name = "failing"
    declines_for_good = False

    def __init__(self, failures: Iterator[BaseException]) -> None:
        super().__init__(before=self._fail)
        self._failures = failures

    def _fail(self, proposal: Proposal) -> None:
        if proposal.task.id != "two":
            raise next(self._failures)


def test_nothing_that_a_generator_raises_ends_a_campaign(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    campaign = begin(judge, workspace, home, budget=len(FAILURES))
    generator = Failing(error for error, _ in FAILURES.values())
    ending = run_campaign(workspace, campaign, components(judge, generator), RunLimits(), Watcher())
    assert ending is Ending.COMPLETE
    failed = sorted(workspace.attempts(campaign, 1), key=lambda attempt: attempt.number)
    assert [attempt.state for attempt in failed] == [State.DECLINED] * len(FAILURES)
    for attempt, (_, said) in zip(failed, FAILURES.values(), strict=True):
        assert said in attempt.reason and attempt.reason.isprintable(), attempt.reason
        assert len(attempt.reason) < 1000
    states = {attempt.state for attempt in workspace.attempts(campaign, 2)}
    assert states == {State.PASSED}
    assert workspace.totals(campaign).claimed == 0


def test_a_task_that_cannot_be_studied_is_declined(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    class Ignorant(Fixed):
        computes = True

        def study(self, task: Task) -> None:
            if task.id == "one":
                raise OSError("no more processes")

    campaign = begin(judge, workspace, home, budget=1)
    ending = run_campaign(
        workspace, campaign, components(judge, Ignorant()), RunLimits(), Watcher()
    )
    assert ending is Ending.COMPLETE
    (one,), (two,) = (workspace.attempts(campaign, task) for task in (1, 2))
    assert one.state is State.DECLINED and "OSError: no more processes" in one.reason
    assert two.state is State.PASSED


def test_a_draft_that_is_no_candidate_of_the_backend_is_declined(
    judge: Judge, workspace: Workspace, home: Path
) -> None:
    class Elsewhere(Fixed):
        def write(self, proposal: Proposal) -> Draft:
            return Draft(Candidate({"kernel.py": "pass"}, Origin.FILE))

    campaign = begin(judge, workspace, home, budget=1)
    written = components(judge, Elsewhere())
    ending = run_campaign(workspace, campaign, written, RunLimits(), Watcher())
    assert ending is Ending.COMPLETE
    for task in (1, 2):
        (attempt,) = workspace.attempts(campaign, task)
        assert attempt.state is State.DECLINED and "has no model.py" in attempt.reason


class Setting(Watcher):
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def set_aside(self, task: str, reason: str) -> None:
        self.reasons.append(reason)


def test_what_the_composer_cannot_write_is_said_once(
    judge: Judge, workspace: Workspace, tmp_path: Path
) -> None:
    transform = TASK.replace("2 * x + self.bias", "torch.fft.rfft(x + self.bias).real")
    (tmp_path / "spectrum.py").write_text(transform)
    tasks = list(describe_tasks(judge, find_tasks((str(tmp_path / "spectrum.py"),)), "cpu"))
    settings = msgspec.structs.replace(SETTINGS, budget=5, generator="composer")
    campaign = workspace.create_campaign(settings, tasks)
    composer, watcher = Composer(), Setting()
    try:
        workers = Components((judge,), composer, get_strategy("value"))
        run_campaign(workspace, campaign, workers, RunLimits(), watcher)
    finally:
        composer.close()
    assert len(watcher.reasons) == 1
    assert "_fft_r2c" in watcher.reasons[0] and "--generator model" in watcher.reasons[0]
    assert workspace.totals(campaign).done == 0
    assert workspace.tasks(campaign)[0].set_aside == watcher.reasons[0]


def test_nothing_is_compiled_during_a_timed_run(workspace: Workspace, home: Path) -> None:
    """Hold the lock of a timed run, as the judge does; a compiler must wait for it."""
    built = threading.Event()

    def build() -> None:
        with measurement_lock.compile_():
            built.set()

    with measurement_lock.time_cpu():
        builder = threading.Thread(target=build)
        builder.start()
        assert not built.wait(0.2)
    assert built.wait(10)
    builder.join()


@pytest.mark.parametrize(
    ("neighbour", "waits"),
    [
        (measurement_lock.compile_, False),
        (measurement_lock.generate, True),
        (measurement_lock.time_cpu, True),
    ],
)
def test_during_a_timed_run_on_a_device_only_compilers_run(
    neighbour: Callable[[], AbstractContextManager[None]], waits: bool, home: Path
) -> None:
    entered = threading.Event()

    def enter() -> None:
        with neighbour():
            entered.set()

    with measurement_lock.time_devices():
        other = threading.Thread(target=enter)
        other.start()
        assert entered.wait(0.2 if waits else 10) is not waits
    assert entered.wait(10)
    other.join()


def test_the_judge_holds_the_lock_during_timed_runs_only(home: Path) -> None:
    entered = []

    class Spy:
        def __enter__(self) -> None:
            entered.append("in")

        def __exit__(self, *_: object) -> None:
            entered.append("out")

    with Judge(get_backend("cpp"), JudgeSettings(rounds=5), Spy) as judge:
        (entry,) = find_tasks((str(home / "one.py"),))
        task = next(describe_tasks(judge, [entry], "cpu")).task
        assert task is not None
        wrong = Candidate({"model.py": MODEL, "kernel.cpp": WRONG}, Origin.FILE)
        assert not judge.verify(task, wrong).passed
        assert entered == []
        honest = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE)
        assert judge.verify(task, honest).passed
        assert entered == ["in", "out"]
