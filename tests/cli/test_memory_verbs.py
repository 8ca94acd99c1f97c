"""`kernelmill memory`, run as a user runs it."""

from pathlib import Path

import pytest

from cli.test_command_line import one_line_error, run
from kernelmill.strategies.value import ValueDriven
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, new_tasks, observing


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a"))
        strategy = ValueDriven("methods=0")
        for ratio in (None, 2.0):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, make_result(ratio, text=str(ratio)), observing(strategy))
    return tmp_path / "w"


def test_a_memory_is_shown_audited_and_carried_elsewhere(learned: Path, tmp_path: Path) -> None:
    shown = run("memory", "show", "--workspace", learned).stdout
    assert "hashed-words-1" in shown and "experience" in shown
    assert "never shown" in run("memory", "audit", "--workspace", learned).stdout
    assert "nothing to remove" in run("memory", "prune", "--workspace", learned).stdout
    assert "started from nothing" in run("memory", "explain", "2", "--workspace", learned).stdout
    file, other = tmp_path / "a.memory", tmp_path / "other"
    assert "4 items" in run("memory", "export", file, "--workspace", learned).stdout
    assert "4 new items" in run("memory", "import", file, "--workspace", other).stdout
    assert "imported before" in one_line_error(run("memory", "import", file, "--workspace", other))


def test_mistakes_about_memories(learned: Path, tmp_path: Path) -> None:
    missing = run("memory", "explain", "99", "--workspace", learned)
    assert "no attempt 99" in one_line_error(missing)
    assert "no embedder" in one_line_error(run("memory", "embed", "magic", "--workspace", learned))
    assert "not a workspace" in one_line_error(run("memory", "show", "--workspace", tmp_path / "x"))
    nowhere = run("memory", "export", tmp_path / "no" / "file", "--workspace", learned)
    assert "cannot write" in one_line_error(nowhere)
    (tmp_path / "text").write_text("hello")
    bad = run("memory", "import", tmp_path / "text", "--workspace", learned)
    assert "not a complete memory file" in one_line_error(bad)
