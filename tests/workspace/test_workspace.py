"""Workspaces: creation and opening, claims, costs and sources."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kernelmill.records.attempt import Attempt, AttemptPlan, Result, Seconds, State, VerdictKind
from kernelmill.records.errors import UsageError, WorkspaceError
from kernelmill.records.guidance import Guidance, Method, Plan
from kernelmill.records.model_calls import ModelCall
from kernelmill.workspace import EventKind, Transaction, Workspace
from samples import SETTINGS, make_result, make_verdict, new_tasks


def ignore(_attempt: Attempt, _transaction: Transaction) -> None:
    pass


def die(workspace: Workspace) -> None:
    """Close the files, as the operating system does for a killed process."""
    if workspace._owner is not None:
        os.close(workspace._owner._file)
        workspace._owner = None
    workspace._connection.close()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is not a workspace: `kernelmill run` makes one"):
        Workspace(tmp_path)
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(WorkspaceError, match="not empty"):
        Workspace(tmp_path, create=True)
    with pytest.raises(WorkspaceError, match="cannot make a workspace"):
        Workspace(tmp_path / "thesis.tex", create=True)


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernelmill.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(WorkspaceError, match="cannot open"):
        Workspace(tmp_path)
    (tmp_path / "kernelmill.db").unlink()
    connection = sqlite3.connect(tmp_path / "kernelmill.db")
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(WorkspaceError, match="another program"):
        Workspace(tmp_path)


def test_a_newer_workspace_says_upgrade(tmp_path: Path) -> None:
    Workspace(tmp_path, create=True).close()
    connection = sqlite3.connect(tmp_path / "kernelmill.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(WorkspaceError, match="newer Kernelmill"):
        Workspace(tmp_path)


def test_many_processes_may_make_the_same_workspace(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kernelmill.workspace import Workspace; "
        "sys.path.insert(0, sys.argv[2]); from samples import *; "
        "w = Workspace(Path(sys.argv[1]), create=True); "
        "c = w.create_campaign(SETTINGS, new_tasks('a', 'b')); "
        "t = w.tasks(c)[0].task; "
        "[w.complete(w.claim(c, t), make_result(), lambda *_: None) for _ in range(4)]; "
        "assert w.claim(c, t) is None"
    )
    here = Path(__file__).parent.parent
    command = [sys.executable, "-c", code, str(tmp_path / "w"), str(here)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.wait() == 0, process.communicate()[1]
    with Workspace(tmp_path / "w") as workspace:
        assert [workspace.totals(c).done for c in workspace.campaigns()] == [4, 4, 4]


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        (entry,) = workspace.tasks(campaign)
        assert entry.task is not None
        claim = workspace.claim(campaign, entry.task)
        assert claim is not None
        result = make_result(2.0, champion=True)
        stored = workspace.complete(claim, result, ignore)
        workspace.store_final(stored.id, make_verdict(1.9, compiled=True))
    with Workspace(tmp_path) as workspace:
        assert workspace.campaign() == campaign
        attempt = workspace.attempt(stored.id)
        assert attempt == stored
        assert (attempt.state, attempt.ratio, attempt.decisions) == (State.PASSED, 2.0, {"tile": 8})
        candidate = workspace.candidate(attempt)
        assert candidate is not None and result.draft is not None
        assert candidate.files == result.draft.candidate.files
        assert workspace.verdict(attempt.id) == result.verdict
        assert workspace.verdict(attempt.id, VerdictKind.CONFIRMING) is None
        assert workspace.verdict(attempt.id, VerdictKind.FINAL) == make_verdict(1.9, compiled=True)
        assert workspace.tasks(campaign)[0].champion == attempt.id
        assert [best.attempt for best in workspace.best("cpp")] == [attempt.id]
        with pytest.raises(UsageError, match="no campaign 7"):
            workspace.campaign(7)
        with pytest.raises(UsageError, match="no attempt 99"):
            workspace.attempt(99)


def test_the_best_attempt_of_a_task(tmp_path: Path) -> None:
    with Workspace(str(tmp_path), create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a", "b"))
        with pytest.raises(UsageError, match="no task 'c'"):
            workspace.best_attempt(campaign, "c")
        with pytest.raises(UsageError, match="a has had no attempt"):
            workspace.best_attempt(campaign, "a")
        for ratio, best in ((None, 1), (2.0, 2), (1.0, 2)):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, make_result(ratio, champion=ratio == 2.0), ignore)
            assert workspace.best_attempt(campaign, "a").id == best


def test_what_was_asked_and_planned_comes_back(tmp_path: Path) -> None:
    calls = (
        ModelCall("planner", "m", 900, 50, 0.01, 2.0),
        ModelCall("optimizer", "m", None, None, None, 9.0, "cut short", cached=True),
    )
    plan = Plan("fuse", ("one pass",), "memory 0.2", "arithmetic: 0.01", "memory 0.4")
    method = Method("fuse", "Read once.", "memory share up", {"fuse": True}, 3)
    guidance = Guidance("r1", "memory", "high", "streaming", ("memory 0.2",), (method,), {})
    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        made = make_result()
        assert made.draft is not None
        draft = msgspec.structs.replace(made.draft, calls=calls, plan=plan)
        proposal = msgspec.structs.replace(made.proposal, guidance=guidance)
        result = msgspec.structs.replace(made, draft=draft, proposal=proposal)
        claims = [workspace.claim(campaign, 1) for _ in range(2)]
        assert claims[0] is not None and claims[1] is not None
        attempt = workspace.complete(claims[0], result, ignore)
        assert (attempt.tokens_in, attempt.cost_usd) == (None, None)
        assert workspace.calls(attempt.id) == list(calls)
        assert workspace.planned(attempt.id) == AttemptPlan(guidance, plan, None)
        declined = Result(made.proposal, Seconds(), declined="no answer", declined_calls=calls[:1])
        second = workspace.complete(claims[1], declined, ignore)
        assert (second.tokens_in, second.cost_usd) == (900, 0.01)
        assert workspace.planned(second.id) is None


def test_the_same_source_is_stored_once_and_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        for cost in (None, 0.25, 0.0):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, make_result(None, cost=cost), ignore)
        totals = workspace.totals(campaign)
        assert (totals.known_usd, totals.unpriced, totals.dearest_usd) == (0.25, 1, 0.25)
        assert [a.cost_usd for a in workspace.attempts(campaign, 1)] == [None, 0.25, 0.0]
        count = workspace._connection.execute("SELECT count(*) FROM sources").fetchone()[0]
        assert count == 1


def test_what_an_observer_raises_undoes_the_attempt(tmp_path: Path) -> None:
    def fail(_attempt: Attempt, transaction: Transaction) -> None:
        transaction.execute("DELETE FROM verdicts")
        raise RuntimeError("no")

    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        with pytest.raises(RuntimeError):
            workspace.complete(claim, make_result(), fail)
        assert workspace.totals(campaign).done == 0
        assert workspace.verdict(claim.attempt) is None
        workspace.complete(claim, make_result(), ignore)
        assert workspace.totals(campaign).done == 1


def test_the_attempt_of_a_dead_process_is_taken_up_and_that_of_a_living_one_is_not(
    tmp_path: Path,
) -> None:
    first, second = Workspace(tmp_path, create=True), Workspace(tmp_path)
    campaign = first.create_campaign(SETTINGS, new_tasks("suite/task"))
    mine, other = first.claim(campaign, 1), second.claim(campaign, 1)
    assert mine is not None and other is not None
    assert (mine.number, other.number) == (1, 2)
    die(first)
    assert second.claim(campaign, 1) == mine
    with pytest.raises(UsageError, match="not finished"):
        second.attempt(mine.attempt)
    second.complete(mine, make_result(), ignore)
    assert second.totals(campaign).claimed == 1
    second.close()


def test_a_lost_claim_cannot_be_completed(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as first, Workspace(tmp_path) as second:
        campaign = first.create_campaign(SETTINGS, new_tasks("suite/task"))
        claim = first.claim(campaign, 1)
        assert claim is not None
        second.claim(campaign, 1)
        with pytest.raises(WorkspaceError, match="belongs to another process"):
            second.complete(claim, make_result(), ignore)


def test_a_disk_that_takes_no_more_is_a_clear_error(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        pages = workspace._connection.execute("PRAGMA page_count").fetchone()[0]
        workspace._connection.execute(f"PRAGMA max_page_count = {pages}")
        text = "".join(map(str, range(100_000)))
        with pytest.raises(WorkspaceError, match="full"):
            workspace.complete(claim, make_result(text=text), ignore)
        workspace._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(WorkspaceError, match="cannot be used"):
            workspace.note(campaign, EventKind.BEGUN, "")
        workspace._connection.execute("PRAGMA query_only = OFF")
        workspace._connection.execute("PRAGMA max_page_count = 1000000")
        assert workspace.complete(claim, make_result(text=text), ignore).number == 1
