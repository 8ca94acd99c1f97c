"""`kernelmill skills`, run as a user runs it."""

from pathlib import Path

import msgspec
import pytest

from cli.test_command_line import one_line_error, run
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.campaign import NewTask
from kernelmill.records.guidance import Diagnosis, Guidance, Method
from kernelmill.records.proposal import Draft, Parent, Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.skills.library import load_library
from kernelmill.skills.lint import lint_library
from kernelmill.strategies.skill import SkillDriven
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_verdict, observing
from skills.helpers import PARALLEL, SERIAL, VECTORS, candidate, plan, task

PLANNED, CHANGED, REPAIRED = 2, 3, 4
TASK: Task = msgspec.structs.replace(task(), id="basic/relu")


def parent_of(workspace: Workspace, number: int) -> Parent:
    attempt = workspace.attempt(number)
    source, verdict = workspace.candidate(attempt), workspace.verdict(number)
    assert source is not None and verdict is not None
    return Parent(number, source, verdict, attempt.decisions)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A draft, a planned improvement of it, an unplanned one, and a repair."""
    folder = tmp_path_factory.mktemp("skills") / "w"
    first = Method("share-the-outer-loop", "how", "parallel_loops up", tried="attempt 0: no")
    guidance = Guidance(
        "cpp-one-thread", "one-thread", "high", "streaming", ("parallel_loops = 0",), (first,),
        {"stay-on-one-thread": "there is work for all"},
    )  # fmt: skip
    diagnosis = Diagnosis("numerical", "it is wrong", "moments", (), "two passes", 0.5)
    steps = [
        (None, Draft(candidate(SERIAL), {"parallel": "none"}), 1.0, None),
        (1, Draft(candidate(PARALLEL), plan=plan("share-the-outer-loop")), 1.5, guidance),
        (1, Draft(candidate(VECTORS), {"parallel": "outer"}), 2.0, None),
        (2, Draft(candidate(SERIAL + "\n"), diagnosis=diagnosis), None, None),
    ]
    with Workspace(folder, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, [NewTask(TASK.id, TASK)])
        for start, draft, ratio, allowed in steps:
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            parent = None if start is None else parent_of(workspace, start)
            proposal = Proposal(TASK, "cpp", Stage.REFINE, 1, parent, guidance=allowed)
            result = Result(proposal, Seconds(), draft, make_verdict(ratio))
            workspace.complete(claim, result, observing(SkillDriven()))
    return folder


def test_methods_are_listed_by_backend() -> None:
    listed = run("skills", "list", "--backend", "cpp").stdout
    assert "share-the-outer-loop" in listed and "parallel_loops up" in listed
    assert "share-the-outer-loop" not in run("skills", "list", "--backend", "abacus").stdout


def test_the_shipped_skills_pass_and_a_hole_does_not(tmp_path: Path) -> None:
    assert "no findings" in run("skills", "lint").stdout
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.yaml").write_text(
        "backends: [cpp]\nadditions: {nowhere: [guess]}\n"
    )
    flawed = run("skills", "lint", "--folder", tmp_path)
    assert flawed.returncode == 1 and "no case nowhere" in flawed.stdout
    assert "no folder" in one_line_error(run("skills", "lint", "--folder", tmp_path / "none"))


def test_an_attempt_is_explained(made: Path) -> None:
    told = run("skills", "explain", PLANNED, "--workspace", made).stdout
    for line in (
        "rule: cpp-one-thread (bottleneck one-thread, headroom high, structure streaming)",
        "parallel_loops = 0",
        "allowed: share-the-outer-loop, expects parallel_loops up; tried before: attempt 0: no",
        "forbidden: stay-on-one-thread: there is work for all",
        "plan: share-the-outer-loop: do it",
        "prediction: passes down",
        "outcome: 1.50x as fast as before; parallel_loops = 0 -> parallel_loops = 1, as predicted",
    ):
        assert line in told
    repaired = run("skills", "explain", REPAIRED, "--workspace", made).stdout
    assert "diagnosis: numerical: moments (50% sure)" in repaired and "fix: two passes" in repaired
    nothing = run("skills", "explain", CHANGED, "--workspace", made)
    assert "followed no rule" in one_line_error(nothing)


def test_what_was_faster_becomes_a_method(made: Path, tmp_path: Path) -> None:
    listed = run("skills", "drafts", "--workspace", made).stdout
    assert "2.00x" in listed and "parallel=outer" in listed
    assert "1.50x" not in listed, "it followed a method that is known"
    mine = tmp_path / "mine"
    options = ("--workspace", made, "--folder", mine, "--name", "thread-and-vector")
    assert "edit it" in run("skills", "accept", CHANGED, *options).stdout
    library = load_library(mine)
    assert lint_library(library) == []
    method = library.methods["thread-and-vector"]
    part = method.front.backends["cpp"]
    assert part.decisions == {"parallel": "outer"}
    assert (part.expects, part.case) == ("parallel_loops up", "basic/relu")
    assert {case.which: case.candidate.files["kernel.cpp"] for case in method.cases} == {
        "before": SERIAL + "\n", "after": VECTORS + "\n"
    }  # fmt: skip
    (case,) = [one for one in library.table("cpp").cases if one.name == "cpp-one-thread"]
    assert case.allow[-1] == "thread-and-vector"
    again = run("skills", "accept", CHANGED, *options)
    assert "is no name for a new method" in one_line_error(again)


def test_mistakes_about_drafts(made: Path) -> None:
    assert "no draft 99" in one_line_error(run("skills", "accept", "99", "--workspace", made))
