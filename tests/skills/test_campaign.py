"""The skill strategy in the real loop and under the real judge: the composer plans, or a model."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from generators.model.endpoint import Handler, say, serving
from generators.model.test_roles import generator
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.campaign import Components, Ending, RunLimits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators.composer import Composer
from kernelmill.judge import Judge
from kernelmill.memory import ItemKind, Memory, ValueRole
from kernelmill.records.attempt import State
from kernelmill.skills.explanation import explain_attempt
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS
from skills.cases import LIBRARY

pytestmark = pytest.mark.compiler


@pytest.mark.slow
def test_the_composer_follows_methods_and_their_values_are_learned(
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
        components = Components((judge,), composer, get_strategy("skill"))
        ending = run_campaign(workspace, campaign, components, RunLimits(), Watcher())
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
            text = explain_attempt(workspace, attempt, LIBRARY)
            assert f"rule: {found.guidance.rule}" in text and "outcome: " in text
        memory = Memory(workspace.database)
        items = memory.of_kind(ItemKind.SKILL, "cpp")
        values = memory.values([item.id for item in items], ValueRole.REFINE)
        visits = sum(one.visits for (_, family), one in values.items() if not family)
        assert visits == len(planned)


RIGHT = KERNEL.splitlines()[-2]
WRONG = (
    f"Approach: one loop\nExpect: 1.1x eager\n\n### model.py\n```python{MODEL}```\n\n"
    f"### kernel.cpp\n```cpp{KERNEL.replace('2 * x', '3 * x')}```\n"
)
EDITED = "### kernel.cpp\n```edit\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"
DIAGNOSIS = {
    "issue": "all elements are wrong",
    "evidence": "numerical: the output is wrong in",
    "cause": "it triples where it should double",
    "invariants": ["rows stay parallel"],
    "fix": "multiply by 2",
    "confidence": 0.9,
}


def play(handler: Handler) -> None:
    """A model that knows its parts by heart, and copies evidence from what it is shown."""
    prompt = handler.prompt
    if "You are the planner" in prompt:
        shown = prompt.partition("# What the rules say")[2]
        evidence, *_ = re.findall(r"^- (.+)$", shown, re.MULTILINE)
        method, *_ = re.findall(r"^## (\S+)$", shown, re.MULTILINE)
        plan = {
            "method": method, "steps": ["name the schedule"], "evidence": evidence,
            "ruled_out": "arithmetic", "expects": "latency falls", "difference": "a schedule",
        }  # fmt: skip
        answer = json.dumps(plan)
    elif "You are the diagnoser" in prompt:
        answer = json.dumps(DIAGNOSIS)
    elif "# The diagnosis" in prompt:
        answer = EDITED.format(old=RIGHT.replace("2 * x", "3 * x"), new=RIGHT)
    elif "# The plan" in prompt:
        loop = "#pragma omp parallel for"
        answer = EDITED.format(old=loop, new=f"{loop} schedule(static)")
    else:
        answer = WRONG
    say(answer)(handler)


def test_a_model_plays_every_role(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="needs kernelmill[models]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.py").write_text(TASK)
    settings = msgspec.structs.replace(SETTINGS, budget=3, generator="model", strategy="skill")
    tasks = list(describe_tasks(judge, find_tasks((str(tmp_path / "one.py"),)), "cpu"))
    with (
        serving() as server,
        Workspace(tmp_path / "workspace", create=True) as workspace,
    ):
        server.otherwise = play
        campaign = workspace.create_campaign(settings, tasks)
        components = Components((judge,), generator(server), get_strategy("skill"))
        assert (
            run_campaign(workspace, campaign, components, RunLimits(), Watcher()) is Ending.COMPLETE
        )
        drafted, repaired, improved = workspace.attempts(campaign, 1)
        assert (drafted.state, drafted.gate) == (State.REFUSED, "correctness")
        assert repaired.state is State.PASSED, repaired.reason
        assert repaired.parent == drafted.id
        assert improved.parent == repaired.id and improved.prediction == "latency falls"
        diagnosed, planned = (workspace.planned(one.id) for one in (repaired, improved))
        assert diagnosed is not None and diagnosed.diagnosis is not None
        assert planned is not None and planned.plan is not None
        assert "outcome: " in explain_attempt(workspace, improved, LIBRARY)
        calls = [call for one in (drafted, repaired, improved) for call in workspace.calls(one.id)]
        roles = ["generator", "diagnoser", "repairer", "planner", "optimizer"]
        assert [call.role for call in calls] == roles
