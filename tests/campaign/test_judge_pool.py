"""Several judges in one campaign, each on a processor instead of a device."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.campaign import (
    Components,
    Ending,
    RunLimits,
    Watcher,
    measurement_lock,
    run_campaign,
)
from kernelmill.campaign.judge_pool import JudgePool, Retired
from kernelmill.campaign.preflight import check_devices, describe_tasks, find_tasks
from kernelmill.generators.base import Generator
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.harness import Harness
from kernelmill.records.attempt import State
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.task import Task
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]


@pytest.fixture(scope="module")
def second() -> Iterator[Judge]:
    with Judge(get_backend("cpp"), JudgeSettings(rounds=6, seconds=20.0)) as judge:
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
    """Holds every judge until two are about to begin."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2, timeout=60)

    def working(self, task: str, activity: str) -> None:
        if activity == "judging":
            self._barrier.wait()


def test_a_lease_is_exclusive_and_prefers_a_judge_that_is_ready(
    judge: Judge, second: Judge, tasks: list[Task]
) -> None:
    (task, *_) = tasks
    honest = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE)
    assert second.verify(task, honest).passed
    assert second.is_ready_for(task) and not judge.is_ready_for(task)
    pool = JudgePool((judge, second))
    with pool.lease(task) as ready:
        assert ready is second
        with pool.lease(task) as other:
            assert other is judge
            third = threading.Thread(target=lambda: leased.append(enter(pool, task)))
            leased: list[Judge] = []
            third.start()
            third.join(0.2)
            assert third.is_alive() and not leased
        third.join(60)
        assert leased == [judge]


def enter(pool: JudgePool, task: Task) -> Judge:
    with pool.lease(task) as judge:
        return judge


def test_every_judge_is_at_work_at_once(
    judge: Judge, second: Judge, tasks: list[Task], tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, budget=2)
    with Workspace(tmp_path / "workspace", create=True) as workspace:
        entries = find_tasks((str(tmp_path / "one.py"), str(tmp_path / "two.py")))
        described = list(describe_tasks(judge, entries, "cpu"))
        campaign = workspace.create_campaign(settings, described)
        components = Components((judge, second), Honest(), get_strategy("refine"))
        ending = run_campaign(workspace, campaign, components, RunLimits(), Meeting())
        assert ending is Ending.COMPLETE
        for entry in workspace.tasks(campaign):
            attempts = workspace.attempts(campaign, entry.task or 0)
            assert [attempt.state for attempt in attempts] == [State.PASSED] * 2


class Counting(Judge):
    opened = 0

    def harness(self, task: Task) -> Harness[Any]:
        self.opened += 1
        return super().harness(task)


@pytest.mark.slow
def test_a_judge_with_capacity_for_one_task_stays_with_it_for_a_while(
    tmp_path: Path, tasks: list[Task]
) -> None:
    budget = 6
    settings = msgspec.structs.replace(SETTINGS, budget=budget)
    small = JudgeSettings(rounds=6, seconds=20.0, harness_bytes=1)
    with (
        Counting(get_backend("cpp"), small) as judge,
        Workspace(tmp_path / "workspace", create=True) as workspace,
    ):
        assert judge.ready_task_limit is None
        entries = find_tasks((str(tmp_path / "one.py"), str(tmp_path / "two.py")))
        described = list(describe_tasks(judge, entries, "cpu"))
        campaign = workspace.create_campaign(settings, described)
        components = Components((judge,), Honest(), get_strategy("refine"))
        run_campaign(workspace, campaign, components, RunLimits(), Watcher())
        assert judge.ready_task_limit == 1
        assert judge.opened <= len(tasks) * budget // 2


def test_a_retired_pool_waits_for_its_leases_and_grants_no_more(
    judge: Judge, tasks: list[Task]
) -> None:
    pool = JudgePool((judge,))
    retiring = threading.Thread(target=pool.retire)
    with pool.lease(tasks[0]):
        retiring.start()
        retiring.join(0.2)
        assert retiring.is_alive()
    retiring.join(60)
    assert not retiring.is_alive()
    with pytest.raises(Retired), pool.lease(tasks[0]):
        pass


def test_timed_runs_of_one_campaign_overlap_and_exclude_compilers(tasks: list[Task]) -> None:
    built = threading.Event()

    def build() -> None:
        with measurement_lock.compile_():
            built.set()

    timing = measurement_lock.SharedTiming()
    builder = threading.Thread(target=build)
    with timing.hold():
        with timing.hold():
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
