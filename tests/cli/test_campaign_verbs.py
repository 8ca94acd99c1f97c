"""`run`, `resume`, `status`, `show` and `report`, run as a user runs them."""

import os
from pathlib import Path

import pytest

from cli.test_command_line import one_line_error, run
from judge.kernels import TASK
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, new_tasks


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing",), "no suite"),
        (("starter", "--backend", "abacus"), "no backend"),
        (("starter", "--generator", "poet"), "no generator"),
        (("starter", "--generator", "replay:/no/such/folder"), "there is no folder"),
        (("starter", "--strategy", "luck"), "no strategy"),
        (("starter", "--budget", "0"), "--budget"),
        (("starter", "--budget", "many"), "--budget"),
        (("starter", "--seed", "-1"), "--seed"),
        (("starter", "--max-minutes", "0"), "--max-minutes"),
        (("starter", "--max-usd", "-1"), "--max-usd"),
        (("starter", "--threads", "0"), "--threads"),
        (("starter", "--rounds", "1"), "--rounds"),
        (("starter", "--workspace", "/dev/null"), "cannot make a workspace"),
        (("starter/gelu", "--scale", "moon"), "none of the 1 tasks loads"),
        ((), "Missing argument"),
    ],
    ids=str,
)
@pytest.mark.compiler
def test_mistakes_of_run(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    defaults = ("--generator", "replay", "--workspace", str(tmp_path / "w"))
    assert words in one_line_error(run("run", *defaults, *arguments))


def test_mistakes_about_workspaces(tmp_path: Path) -> None:
    for verb in ("resume", "status", "report", "show"):
        where = (tmp_path,) if verb == "resume" else ("--workspace", tmp_path)
        what = ("1",) if verb == "show" else ()
        assert "is not a workspace" in one_line_error(run(verb, *what, *where))
    Workspace(tmp_path / "w", create=True).close()
    assert "no campaign yet" in one_line_error(run("resume", tmp_path / "w"))
    assert "no campaign yet" in one_line_error(run("report", "--workspace", tmp_path / "w"))
    assert "no attempt 5" in one_line_error(run("show", "5", "--workspace", tmp_path / "w"))
    assert run("status", "--workspace", tmp_path / "w").returncode == 0


def test_a_backend_that_cannot_work_here_is_said_first(tmp_path: Path) -> None:
    done = run(
        "run", "starter", "--generator", "replay", "--workspace", tmp_path / "w",
        PATH=str(tmp_path), CXX="",
    )  # fmt: skip
    assert "backend cpp cannot work here" in one_line_error(done)
    assert not (tmp_path / "w").exists()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a", "b"))
        for ratio in (None, 2.0):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            result = make_result(ratio, text="# the source", champion=ratio is not None)
            workspace.complete(claim, result, lambda *_: None)
    return tmp_path / "w"


def test_status_show_and_report_read_the_workspace(filled: Path) -> None:
    assert "2 of 8" in run("status", "--workspace", filled).stdout
    refused = run("show", "1", "--workspace", filled).stdout
    assert "it is <wrong>" in refused and "# the source" in refused
    best = run("show", "a", "--workspace", filled).stdout
    assert "attempt 2" in best and "2.00x" in best
    assert "has had no attempt" in one_line_error(run("show", "b", "--workspace", filled))
    assert "has a task 'c'" in one_line_error(run("show", "c", "--workspace", filled))
    page = filled / "page.html"
    report = run("report", "--workspace", filled, "--html", page)
    assert "1 of 2 tasks solved" in report.stdout
    assert "<svg" in page.read_text()
    bad = run("report", "--workspace", filled, "--html", filled / "no" / "page.html")
    assert "cannot write" in one_line_error(bad)
    assert "no campaign 9" in one_line_error(
        run("report", "--workspace", filled, "--campaign", "9")
    )


@pytest.mark.compiler
@pytest.mark.isolation
def test_a_campaign_over_shipped_kernels(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(TASK.replace("def get_inputs", "def inputs"))
    done = run(
        "run", "starter/gelu", tmp_path / "broken.py", "--generator", "replay", "--budget", "2",
        "--rounds", "5", "--no-compile", "--workspace", tmp_path / "w",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())  # lines break between words, wherever the path ends
    assert "set aside: " in said and "does not define get_inputs" in said
    assert "starter/gelu 1/2: passed" in done.stdout
    assert "1 of 2 tasks solved" in done.stdout
    assert os.listdir(tmp_path / "w" / "best" / "cpp" / "starter") == ["gelu"]
    again = run("resume", tmp_path / "w", "--budget", "3")
    assert again.returncode == 0, again.stderr
    assert "declined" in again.stdout
