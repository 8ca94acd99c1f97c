"""Several judges in one campaign. Here each has a processor where it would have a device."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.campaign import Crew, Ending, Limits, Watcher, quiet, run_campaign
from kernelmill.campaign.panel import Panel, Retired
from kernelmill.campaign.preflight import check_devices, describe_tasks, find_tasks
from kernelmill.candidate import Candidate, Origin
from kernelmill.errors import UsageError
from kernelmill.generators.base import Draft, Generator, Proposal
from kernelmill.judge import Judge, Settings
from kernelmill.judge.bench import Bench
from kernelmill.strategies import get_strategy
from kernelmill.tasks import Task
from kernelmill.workspace import State, Workspace
from samples import SETTINGS

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]


@pytest.fixture(scope="module")
def second() -> Iterator[Judge]:
    with Judge(get_backend("cpp"), Settings(rounds=6, seconds=20.0)) as judge:
        yield judge


@pytest.fixture
def tasks(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, rows in (("one", 56), ("two", 40)):
        (tmp_path / f"{name}.py").write_text(TASK.replace("rows = 64", f"rows = {rows}"))
    entries = find_tasks((str(tmp_path / "one.py"), str(tmp_path / "two.py")))
    return [new.task for new in describe_tasks(judge, entries, "cpu") if new.task is not None]


class Honest(Generator):
    name = "honest"

    def write(self, proposal: Proposal) -> Draft:
        files = {"model.py": MODEL, "kernel.cpp": f"{KERNEL}// {proposal.seed}\n"}
        return Draft(Candidate(files, Origin.FILE))

    def check(self, backend: str) -> None:
        pass


class Meeting(Watcher):
    """Lets nobody be judged before two are about to be."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2, timeout=60)

    def working(self, task: str, what: str) -> None:
        if what == "judging":
            self._barrier.wait()


def test_a_lease_is_for_one_and_prefers_who_is_ready(
    judge: Judge, second: Judge, tasks: list[Task]
) -> None:
    (task, *_) = tasks
    honest = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE)
    assert second.verify(task, honest).passed
    assert second.is_ready_for(task) and not judge.is_ready_for(task)
    panel = Panel((judge, second))
    with panel.lease(task) as ready:
        assert ready is second
        with panel.lease(task) as other:
            assert other is judge
            third = threading.Thread(target=lambda: leased.append(enter(panel, task)))
            leased: list[Judge] = []
            third.start()
            third.join(0.2)
            assert third.is_alive() and not leased
        third.join(60)
        assert leased == [judge]


def enter(panel: Panel, task: Task) -> Judge:
    with panel.lease(task) as judge:
        return judge


def test_every_judge_is_at_work_at_once(
    judge: Judge, second: Judge, tasks: list[Task], tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, budget=2)
    with Workspace(tmp_path / "workspace", create=True) as workspace:
        entries = find_tasks((str(tmp_path / "one.py"), str(tmp_path / "two.py")))
        described = list(describe_tasks(judge, entries, "cpu"))
        campaign = workspace.create_campaign(settings, described)
        crew = Crew(judge, Honest(), get_strategy("refine"), (second,))
        ending = run_campaign(workspace, campaign, crew, Limits(), Meeting())
        assert ending is Ending.COMPLETE
        for entry in workspace.tasks(campaign):
            attempts = workspace.attempts(campaign, entry.task or 0)
            assert [attempt.state for attempt in attempts] == [State.PASSED] * 2


class Counting(Judge):
    opened = 0

    def bench(self, task: Task) -> Bench[Any]:
        self.opened += 1
        return super().bench(task)


def test_a_judge_with_room_for_one_task_stays_with_it_for_a_while(
    tmp_path: Path, tasks: list[Task]
) -> None:
    budget = 6
    settings = msgspec.structs.replace(SETTINGS, budget=budget)
    cramped = Settings(rounds=6, seconds=20.0, bench_bytes=1)
    with (
        Counting(get_backend("cpp"), cramped) as judge,
        Workspace(tmp_path / "workspace", create=True) as workspace,
    ):
        assert judge.room is None
        entries = find_tasks((str(tmp_path / "one.py"), str(tmp_path / "two.py")))
        described = list(describe_tasks(judge, entries, "cpu"))
        campaign = workspace.create_campaign(settings, described)
        crew = Crew(judge, Honest(), get_strategy("refine"))
        run_campaign(workspace, campaign, crew, Limits(), Watcher())
        assert judge.room == 1
        assert judge.opened <= len(tasks) * budget // 2


def test_a_retired_panel_waits_for_who_judges_and_admits_nobody(
    judge: Judge, tasks: list[Task]
) -> None:
    panel = Panel((judge,))
    retiring = threading.Thread(target=panel.retire)
    with panel.lease(tasks[0]):
        retiring.start()
        retiring.join(0.2)
        assert retiring.is_alive()
    retiring.join(60)
    assert not retiring.is_alive()
    with pytest.raises(Retired), panel.lease(tasks[0]):
        pass


def test_clocks_of_one_campaign_run_together_and_nobody_builds_meanwhile(tasks: list[Task]) -> None:
    built = threading.Event()

    def build() -> None:
        with quiet.building():
            built.set()

    clocks = quiet.Together()
    builder = threading.Thread(target=build)
    with clocks.measuring():
        with clocks.measuring():
            builder.start()
        assert not built.wait(0.2)
    assert built.wait(10)
    builder.join()


class TwoKinds(type(get_backend("cpp"))):  # type: ignore[misc]
    def devices(self) -> tuple[str, ...]:
        return ("a large one", "a large one", "a small one")


@pytest.mark.parametrize(
    ("backend", "numbers", "complaint"),
    [
        (get_backend("cpp"), (0,), "no devices"),
        (TwoKinds(), (0, 3), "no device 3"),
        (TwoKinds(), (1, 1), "twice"),
        (TwoKinds(), (1, 2), "different kinds"),
    ],
)
def test_devices_that_cannot_be_used_together(
    backend: Backend, numbers: tuple[int, ...], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_devices(backend, numbers)
    check_devices(TwoKinds(), (0, 1))
