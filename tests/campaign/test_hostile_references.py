"""References that spoil things: a task of theirs is set aside, and the campaign goes on."""

from pathlib import Path

import msgspec
import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.campaign import Components, Ending, RunLimits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.campaign.replay import ReplayGenerator
from kernelmill.judge import Judge
from kernelmill.records.attempt import State
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]

LATER = "if torch.initial_seed() > 1 << 32: "
"""Only where a seed is secret: not yet when the task is described."""
HOSTILE = {
    "in_place": "torch.relu_(x)",
    "exits_later": LATER + "__import__('os')._exit(3)",
    "crashes_later": LATER + "__import__('ctypes').string_at(0)",
    "raises_later": LATER + "raise SystemExit(1)",
    "allocates_later": LATER + "self.hoard = bytearray(64 << 30)",
    "shrinks_later": LATER + "x = x[:1]",
    "says_nothing_finite": "x = x * float('nan')",
    "prints_later": LATER + "print('y' * (8 << 20), flush=True)",
}
HARMLESS = {"prints_later", "shrinks_later"}
"""What is printed goes nowhere; a reference that shrinks refuses every kernel of its own task."""
ASKS_NOTHING = TASK.replace("return 2 * x + self.bias", "return 0 * x + self.bias")


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One honest task among hostile ones, with a recorded kernel for each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = {
        name: TASK.replace("return 2 * x", f"{line}\n        return 2 * x")
        for name, line in HOSTILE.items()
    }
    texts |= {"zz_honest": TASK, "asks_nothing": ASKS_NOTHING}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
        folder = tmp_path / "recorded" / name / "honest"
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(MODEL)
        (folder / "kernel.cpp").write_text(KERNEL)
    return tmp_path


def test_one_task_never_ends_a_campaign(judge: Judge, suite: Path) -> None:
    names = [*HOSTILE, "asks_nothing", "zz_honest"]
    workspace = Workspace(suite / "workspace", create=True)
    entries = find_tasks(tuple(str(suite / f"{name}.py") for name in names))
    tasks = list(describe_tasks(judge, entries, "cpu"))
    campaign = workspace.create_campaign(msgspec.structs.replace(SETTINGS, budget=1), tasks)
    replay = ReplayGenerator(str(suite / "recorded"))
    parts = Components((judge,), replay, get_strategy("refine"))
    for _ in range(2):  # the second time as `resume` does it
        assert run_campaign(workspace, campaign, parts, RunLimits(), Watcher()) is Ending.COMPLETE
    entries_after = {entry.name: entry for entry in workspace.tasks(campaign)}
    for name in HOSTILE.keys() - HARMLESS:
        reason = entries_after[name].set_aside
        assert reason and "\n" not in reason, name
        assert entries_after[name].champion is None
    assert "changes its inputs" in (entries_after["in_place"].set_aside or "")
    assert (entries_after["asks_nothing"].set_aside or "").startswith("degenerate task")
    honest = entries_after["zz_honest"]
    assert honest.set_aside is None and honest.champion is not None
    assert workspace.attempt(honest.champion).state is State.PASSED
