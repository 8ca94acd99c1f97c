"""The skill strategy in the real loop, with the composer as planner and the real judge."""

from pathlib import Path

import msgspec
import pytest

from judge.kernels import TASK
from kernelmill.campaign import Crew, Ending, Limits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators.composer import Composer
from kernelmill.judge import Judge
from kernelmill.memory import ItemKind, Memory, Role
from kernelmill.skills.explaining import explain
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS
from skills.cases import LIBRARY

pytestmark = pytest.mark.compiler


def test_the_composer_follows_methods_and_their_worth_is_learned(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.py").write_text(TASK.replace("rows = 64", "rows = 4096"))
    settings = msgspec.structs.replace(
        SETTINGS, budget=3, generator="composer:cold", strategy="skill"
    )
    tasks = list(describe_tasks(judge, find_tasks((str(tmp_path / "one.py"),)), "cpu"))
    with Workspace(tmp_path / "workspace", create=True) as workspace:
        campaign = workspace.create_campaign(settings, tasks)
        composer = Composer("cold")
        crew = Crew(judge, composer, get_strategy("skill"))
        ending = run_campaign(workspace, campaign, crew, Limits(), Watcher())
        composer.close()
        assert ending is Ending.COMPLETE
        attempts = workspace.attempts(campaign, 1)
        planned = [one for one in attempts if (found := workspace.planned(one.id)) and found.plan]
        assert planned, "a kernel that passed is improved by a method"
        for attempt in planned:
            found = workspace.planned(attempt.id)
            assert found is not None and found.plan is not None and found.guidance is not None
            assert found.plan.evidence in found.guidance.evidence
            assert attempt.prediction == found.plan.expects
            told = explain(workspace, attempt, LIBRARY)
            assert f"rule: {found.guidance.rule}" in told and "outcome: " in told
        memory = Memory(workspace.database)
        items = memory.of_kind(ItemKind.SKILL, "cpp")
        values = memory.values([item.id for item in items], Role.REFINE)
        visits = sum(one.visits for (_, family), one in values.items() if not family)
        assert visits == len(planned)
