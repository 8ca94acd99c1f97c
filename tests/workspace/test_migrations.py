"""Workspaces of earlier formats, opened by this version."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from kernelmill.memory import Memory
from kernelmill.memory.hints import hint_of
from kernelmill.records.attempt import State
from kernelmill.records.campaign import EventKind
from kernelmill.records.proposal import Hint
from kernelmill.records.verdict import Trial
from kernelmill.storage.packing import packed, with_keys
from kernelmill.workspace import Claim, Workspace
from kernelmill.workspace.database import open_database
from kernelmill.workspace.sql import migrations
from samples import SETTINGS, make_result, make_task, make_verdict

BEFORE_CANONICAL_TARGETS = 5
BEFORE_CLAIMS = 6
PASSED, HELD = 1, 2
"""Attempts by id: one that passed, and one that a process held when it died."""


def migrate(folder: Path, version: int) -> sqlite3.Connection:
    """Open a workspace as a Kernelmill that knew only the first migrations did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelmill.workspace.database.migrations", lambda: migrations()[:version])
        return open_database(folder, create=True)


def write_rows(database: sqlite3.Connection) -> None:
    """A campaign on Pallas in the format of version 5."""
    settings = msgspec.structs.replace(SETTINGS, backend="pallas")
    task = with_keys(packed(make_task()), "distributions", "flavours")
    database.execute(
        "INSERT INTO campaigns VALUES (1, 'then', ?)", [msgspec.json.encode(settings).decode()]
    )
    database.execute("INSERT INTO tasks VALUES (1, 'suite/task', 'digest', ?)", [task])
    database.execute(
        "INSERT INTO attempts (id, campaign, task, number, state, owner, planned_at, done_at, stage,"
        " seed, reason, ratio, instruction, prediction, decisions, context, cost_usd,"
        " generate_seconds, build_seconds, wait_seconds, measure_seconds)"
        " VALUES (?, 1, 1, 1, 'passed', 'gone', 'then', 'then', 'draft', 7, '', 2.0, '', '', '{}',"
        " ?, 0.25, 1.0, 2.0, 3.0, 4.0)",
        [PASSED, packed((Hint("api", "use vectors"),))],
    )
    database.execute(
        "INSERT INTO attempts (id, campaign, task, number, state, owner, planned_at, parent)"
        " VALUES (?, 1, 1, 2, 'planned', 'gone', 'then', ?)",
        [HELD, PASSED],
    )
    database.execute("INSERT INTO campaign_tasks VALUES (1, 0, 'suite/task', 1, NULL, ?)", [PASSED])
    verdict = msgspec.structs.replace(make_verdict(2.0), trials=(Trial(False, "plain", 0.5),))
    body = with_keys(
        packed(verdict),
        *("baseline_ms", "eager_ms"),
        *("over_baseline", "over_eager"),
        *("distribution", "flavour"),
    )
    database.execute("INSERT INTO verdicts VALUES (?, 'first', ?)", [PASSED, body])
    database.execute("INSERT INTO events VALUES (1, 1, 'then', 'no money', 'all was spent')")
    for backend in ("pallas", "rvv", "cpp"):
        database.execute(
            "INSERT INTO items VALUES (NULL, 'trace', ?, '', '{}', NULL, '', '', '', '', ?, '', '',"
            " 1, ?, NULL, '', x'', 1, 'then', 'then')",
            [backend, backend, PASSED],
        )
        database.execute("INSERT INTO reward_statistics VALUES (?, 3, 0.5, 0.1)", [backend])


def one_column(database: sqlite3.Connection, statement: str) -> list[object]:
    return [row[0] for row in database.execute(statement)]


@pytest.fixture(params=[BEFORE_CANONICAL_TARGETS, BEFORE_CLAIMS])
def old_workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One that was last opened by a Kernelmill of this format."""
    with closing(migrate(tmp_path, BEFORE_CANONICAL_TARGETS)) as database:
        write_rows(database)
    with closing(migrate(tmp_path, request.param)) as database:
        assert one_column(database, "PRAGMA user_version") == [request.param]
    return tmp_path


def test_stored_records_have_the_names_of_today(old_workspace: Path) -> None:
    with Workspace(old_workspace) as workspace:
        campaign = workspace.campaign()
        (task,) = workspace.tasks(campaign)
        assert task.described == make_task()
        verdict = workspace.verdict(PASSED)
        assert verdict is not None and verdict.latency is not None
        assert verdict.latency.baseline_ms == 1.0
        assert verdict.latency.over_baseline.ratio == 2.0
        assert [trial.distribution for trial in verdict.trials] == ["plain"]
        assert [event.kind for event in workspace.events(campaign)] == [EventKind.NO_MONEY]


def test_a_target_has_its_canonical_name_everywhere(old_workspace: Path) -> None:
    canonical = ["cpp", "pallas:v5e", "rvv:vlen256"]
    with Workspace(old_workspace) as workspace:
        assert workspace.campaign().settings.backend == "pallas:v5e"
        assert [best.attempt for best in workspace.best("pallas:v5e")] == [PASSED]
        for table in ("items", "reward_statistics"):
            names = one_column(workspace.database, f"SELECT backend FROM {table} ORDER BY backend")
            assert names == canonical


def test_an_attempt_held_by_a_dead_process_is_claimed_and_can_be_taken_over(
    old_workspace: Path,
) -> None:
    with Workspace(old_workspace) as workspace:
        campaign = workspace.campaign()
        totals = workspace.totals(campaign)
        assert (totals.done, totals.claimed, totals.known_usd) == (1, 1, 0.25)
        (passed,) = workspace.attempts(campaign, 1)
        assert (passed.state, passed.ratio, passed.seconds.measure) == (State.PASSED, 2.0, 4.0)
        claim = workspace.claim(campaign, 1)
        assert claim == Claim(HELD, 2)
        workspace.complete(claim, make_result(None), lambda *_: None)
        assert workspace.attempt(HELD).state is State.REFUSED
        assert workspace.claim(campaign, 1) == Claim(3, 3)


def test_the_old_state_is_gone_and_nothing_refers_to_what_is_not_there(
    old_workspace: Path,
) -> None:
    with Workspace(old_workspace) as workspace:
        database = workspace.database
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            database.execute("UPDATE attempts SET state = 'planned'")
        assert one_column(database, "PRAGMA foreign_key_check") == []
        assert one_column(database, "PRAGMA integrity_check") == ["ok"]


BEFORE_CODE = 8


@pytest.fixture
def memory_without_code(tmp_path: Path) -> Path:
    """A draft, a faster child of it and a decline, with the items that version 8 made of them."""
    with closing(migrate(tmp_path, BEFORE_CODE)) as database:
        settings = msgspec.json.encode(SETTINGS).decode()
        database.execute("INSERT INTO campaigns VALUES (1, 'then', ?)", [settings])
        database.execute(
            "INSERT INTO tasks VALUES (1, 'suite/task', 'd', ?)", [packed(make_task())]
        )
        for digest in ("slow", "fast"):
            database.execute(
                "INSERT INTO sources VALUES (?, ?)", [digest, packed({"a.py": digest})]
            )
        for attempt, state, parent, source in (
            (1, "passed", None, "slow"),
            (2, "passed", 1, "fast"),
            (3, "declined", 1, None),
        ):
            database.execute(
                "INSERT INTO attempts (id, campaign, task, number, state, owner, claimed_at, parent,"
                " source) VALUES (?, 1, 1, ?, ?, 'gone', 'then', ?, ?)",
                [attempt, attempt, state, parent, source],
            )
        database.execute(
            "INSERT INTO calls VALUES (2, 1, 'optimizer', 'the-model', 1, 1, 0.0, 1.0, '', 0)"
        )
        for kind, text, category, attempt, source in (
            ("practice", "fuse", "memory", 2, "fast"),
            ("experience", "wrong: 3 elements. Avoid: lanes=64.", "failure", 1, "slow"),
            ("experience", "declined: HTTP 503. Avoid: what this source did.", "failure", 3, None),
        ):
            database.execute(
                "INSERT INTO items (kind, fingerprint, text, decisions, outcome, category, names,"
                " task, family, backend, generator, imported_from, campaign, attempt, source,"
                " subject, embedding, made_at, seen_at) VALUES (?, ?, ?, '{}', 0.5, ?, '[]', '', '',"
                " 'cpp', 'model', '', 1, ?, ?, '', x'', 'then', 'then')",
                [kind, text, text, category, attempt, source],
            )
    return tmp_path


def test_items_get_the_code_of_their_attempts(memory_without_code: Path) -> None:
    with Workspace(memory_without_code) as workspace:
        memory = Memory(workspace.database)
        practice, failure = memory.all_items()
        assert (practice.change_from, practice.change_to) == ("slow", "fast")
        assert practice.provenance.model == "the-model"
        code = hint_of(memory, practice).code
        assert code is not None and "+fast" in code.diff
        assert failure.text == "wrong: 3 elements."
        assert failure.change_to is None


def test_what_a_decline_left_in_the_memory_is_removed(memory_without_code: Path) -> None:
    with Workspace(memory_without_code) as workspace:
        memory = Memory(workspace.database)
        assert not any("503" in item.text for item in memory.all_items())
        assert memory.removals == 1, "an index of the vectors is stale"
        assert one_column(workspace.database, "PRAGMA foreign_key_check") == []
