"""What a newcomer meets on the command line: narrow terminals, pipes, odd machines, scripts."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from cli.test_command_line import one_line_error, run
from kernelmill import api
from kernelmill.backends.base import Requirement
from kernelmill.backends.triton.backend import TritonBackend
from kernelmill.cli.main import app
from kernelmill.cli.schema import SCHEMAS
from kernelmill.cli.verify import print_verdicts
from kernelmill.records.errors import BackendUnavailable, KernelmillError
from kernelmill.records.model_calls import ModelCall, SaidText
from kernelmill.records.text import beginning
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.report.listing import campaign_lines
from kernelmill.report.summary import summarise_campaign
from kernelmill.report.tables import task_table
from kernelmill.storage.packing import packed
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, make_verdict, new_tasks

NOBODY = 65534


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    settings = msgspec.structs.replace(SETTINGS, suites=("suite",))
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(
            settings, new_tasks("starter/cross_entropy", "starter/unsolved_one")
        )
        for task, ratio in ((1, None), (1, 2.0), (2, None), (2, None)):
            claim = workspace.claim(campaign, task)
            assert claim is not None
            result = make_result(ratio, text=f"# source {claim.attempt}", champion=bool(ratio))
            said = (SaidText("user", "Write <it>."), SaidText("answer", "Here it is."))
            assert result.draft is not None
            call = ModelCall("generator", "m", 10, 20, 0.5, said=said)
            draft = msgspec.structs.replace(result.draft, calls=(call,))
            workspace.complete(claim, msgspec.structs.replace(result, draft=draft), lambda *_: None)
    return tmp_path / "w"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_tables_leave_out_columns_and_never_cut_words(filled: Path, width: int) -> None:
    with Workspace(filled) as workspace:
        summary = summarise_campaign(workspace, workspace.campaign())
    console = Console(width=width, record=True, file=open(os.devnull, "w"))
    console.print(task_table(summary, width))
    shown = console.export_text()
    assert "faster" in shown and "unsolved" in shown and "verdict" in shown
    assert "2.00x" in shown and "[1.96, 2.04]" in shown
    assert "\u2026" not in shown
    assert max(map(len, shown.splitlines())) <= width
    if width >= 80:
        assert "starter/cross_entropy" in shown
    assert "compile" not in shown, "nothing was measured for this column"
    for heading in ("kernel", "over", "best"):
        assert heading in shown or "not shown at this width" in shown.replace("\n", " ")


def test_the_least_important_column_goes_first() -> None:
    columns = (Column("name"), Column("rest", rank=2), Column("more", rank=1))
    table = fitting_table(columns, [("x" * 20, "y" * 20, "z" * 20)], 50)
    assert [column.header for column in table.columns] == ["name", "more"]
    assert table.caption == "not shown at this width: rest"


@pytest.mark.parametrize("columns", [60, 80])
def test_a_pipe_is_as_wide_as_columns_says(filled: Path, columns: int) -> None:
    for verb in ("status", "report"):
        done = run(verb, "--workspace", filled, COLUMNS=str(columns))
        table = done.stdout.split("tasks solved")[0].rpartition("\n")[0]
        assert done.returncode == 0, done.stderr
        assert max(map(len, table.splitlines())) <= columns, table
    assert "faster" in done.stdout


@pytest.mark.parametrize("width", [60, 80])
def test_sentences_are_broken_between_words_and_not_at_all_in_a_pipe(
    filled: Path, width: int
) -> None:
    narrow = run("report", "--workspace", filled, COLUMNS=str(width)).stdout
    assert max(map(len, narrow.splitlines())) <= width
    whole = run("report", "--workspace", filled, COLUMNS="").stdout
    assert narrow.partition(" solved,")[2].split() == whole.partition(" solved,")[2].split()
    assert max(map(len, whole.splitlines())) > 80


def test_an_unsolved_task_has_its_reasons(filled: Path) -> None:
    shown = run("report", "--workspace", filled).stdout
    assert (
        "unsolved: starter/unsolved_one: correctness: numerical: it is <wrong> "
        "(2 of 2 attempts; kernelmill show 4)" in shown
    )


@pytest.mark.parametrize("width", [40, 60, 80])
def test_other_tables_keep_their_headings(
    filled: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process, since a start of the program takes longer than what is tested."""
    monkeypatch.setenv("COLUMNS", str(width))
    at = ("--workspace", str(filled))
    tables = (
        ("skills list", ("method", "title"), ()),
        ("skills drafts", ("draft", "gain", "change"), at),
        ("backend list", ("backend", "ready"), ()),
        ("backend harvest", ("backend", "refusal", "seen"), (str(filled), "--least", "1")),
        ("memory show", ("item", "value", "text"), at),
        ("memory explain", ("item", "value", "text"), ("2", *at)),
        ("memory audit", (), at),
    )
    for command, headings, arguments in tables:
        done = CliRunner().invoke(app, [*command.split(), *arguments])
        assert done.exit_code == 0, (command, done.output)
        words = done.stdout.split()
        assert all(heading in words for heading in headings), (command, done.stdout)
        assert max(map(cell_len, done.stdout.splitlines())) <= width, (command, done.stdout)


def test_what_is_right_and_not_timed_here_is_correct(tmp_path: Path) -> None:
    """A backend whose device is elsewhere: Triton's interpreter on a machine without a GPU."""
    untimed = msgspec.structs.replace(make_verdict(2.0), latency=None)
    console = Console(width=80, record=True, file=open(os.devnull, "w"))
    print_verdicts(console, [untimed])
    shown = console.export_text()
    assert "refused" not in shown and "1 of 1 correct; 1 not timed" in shown
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a"))
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        result = msgspec.structs.replace(make_result(2.0), verdict=untimed)
        workspace.complete(claim, result, lambda *_: None)
        (task,) = summarise_campaign(workspace, campaign).tasks
    assert task.outcome == "correct"


def test_what_show_prints_of_a_source_is_the_source(filled: Path) -> None:
    source = f"x = 1  # {'long ' * 40}\n\n\nif x:\n    y = [{', '.join(map(str, range(60)))}]\n"
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        digest = workspace.attempt(2).source
        body = packed({"model.py": source})
        transaction.execute("UPDATE sources SET files = ? WHERE digest = ?", (body, digest))
    assert source in run("show", "2", "--workspace", filled, COLUMNS="60").stdout


def test_show_names_the_library_of_a_kernel_and_prints_the_kernel(filled: Path) -> None:
    files = {"kernel.cpp": "the kernel", "long.hpp": "a line\n" * 25, "short.hpp": "one line\n"}
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        digest = workspace.attempt(2).source
        transaction.execute(
            "UPDATE sources SET files = ? WHERE digest = ?", (packed(files), digest)
        )
    shown = run("show", "2", "--workspace", filled).stdout
    assert "the kernel" in shown and "one line" in shown and "a line" not in shown
    assert "long.hpp: 25 lines, printed with --headers" in shown
    assert "a line\n" * 25 in run("show", "2", "--headers", "--workspace", filled).stdout


def test_show_finds_a_task_in_an_earlier_campaign(filled: Path) -> None:
    with Workspace(filled) as workspace:
        workspace.create_campaign(SETTINGS, new_tasks("another"))
    at = ("--workspace", filled)
    assert "attempt 2: starter/cross_entropy" in run("show", "starter/cross_entropy", *at).stdout
    assert "campaign 2" in one_line_error(
        run("show", "starter/cross_entropy", "--campaign", 2, *at)
    )
    assert "kernelmill status" in one_line_error(run("show", "nowhere", *at))


def test_json_for_scripts(filled: Path) -> None:
    (line,) = json.loads(run("status", "--json", "--workspace", filled).stdout)
    assert (line["totals"]["solved"], line["tasks"]) == (1, 2)
    report = json.loads(run("report", "--json", "--workspace", filled).stdout)
    assert [task["champion"] for task in report["tasks"]] == [2, None]
    figures = report["figures"]
    assert (
        figures["over_baseline"]["median"] == 2.0 and figures["fast_p"][0]["points"][0]["y"] == 0.5
    )
    assert list(figures["verdicts"].values()) == ["faster", "unsolved"]
    compared = json.loads(run("report", "--json", "--against", 1, "--workspace", filled).stdout)
    assert compared["comparison"]["tasks"][0]["second"] == 2.0
    assert compared["figures"] == figures
    shown = json.loads(run("show", "2", "--json", "--workspace", filled).stdout)
    assert shown["files"] == {"model.py": "# source 2"}
    assert shown["conversations"][0][1] == {"speaker": "answer", "text": "Here it is."}


JUDGE_OR_PROBE = ("verify", "tasks show", "doctor", "extract", "patch")
"""Verbs that judge a kernel, run a model or probe the machine, and have tests of their own."""


def test_every_read_verb_prints_what_its_schema_says(filled: Path) -> None:
    """In one process, since a start of the program takes longer than what is tested."""
    arguments = {"show": ["2"], "memory explain": ["2"], "tasks list": ["starter"]}
    elsewhere = ("backend list", "doctor", "skills list", "tasks list", "tasks show")
    for name, record in SCHEMAS.items():
        if name in JUDGE_OR_PROBE:
            continue
        where = [] if name in elsewhere else ["--workspace", str(filled)]
        command = [*name.split(), *arguments.get(name, []), "--json", *where]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, (name, done.output)
        msgspec.json.decode(done.stdout, type=record)
        schema = CliRunner().invoke(app, ["schema", *name.split()])
        assert "$defs" in schema.stdout


def test_prompts_are_shown_measured_and_pruned(filled: Path) -> None:
    assert "Write <it>." not in run("show", "1", "--workspace", filled).stdout
    assert "Write <it>." in run("show", "1", "--prompts", "--workspace", filled).stdout
    size = json.loads(run("workspace", "size", "--json", "--workspace", filled).stdout)
    assert (size["messages"], size["texts"]) == (8, 2)
    run("workspace", "prune", "--workspace", filled)
    size = json.loads(run("workspace", "size", "--json", "--workspace", filled).stdout)
    assert (size["messages"], size["texts"]) == (2, 2), "the champion keeps its own"
    run("workspace", "prune", "--champions", "--workspace", filled)
    size = json.loads(run("workspace", "size", "--json", "--workspace", filled).stdout)
    assert (size["messages"], size["texts"]) == (0, 0)
    assert "called m as generator" in run("show", "1", "--prompts", "--workspace", filled).stdout


def as_somebody_else(work: Callable[[], object]) -> str:
    """Do some work as a user who may read the workspace and not write: its result or error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def test_a_workspace_that_may_only_be_read_can_be_read(filled: Path) -> None:

    def summarise() -> int:
        with Workspace(filled) as workspace:
            assert campaign_lines(workspace)[0].totals.solved == 1
            return len(summarise_campaign(workspace, workspace.campaign()).solved)

    def change() -> None:
        with Workspace(filled) as workspace:
            workspace.prune_conversations(None, keep_champions=True)

    summarise()  # everything it needs is loaded
    for path in (filled.parent, *filled.parent.parents):
        if path.name.startswith(("popen-", "pytest-", "test_")):
            path.chmod(path.stat().st_mode | 0o055)
    filled.chmod(0o555)
    (filled / "kernelmill.db").chmod(0o444)
    try:
        assert as_somebody_else(summarise) == "1"
        assert "readonly database" in as_somebody_else(change)
    finally:
        filled.chmod(0o755)


def test_a_damaged_database_is_an_error_in_one_line(filled: Path) -> None:
    database = filled / "kernelmill.db"
    content = bytearray(database.read_bytes())
    page = 4096
    for start in range(2 * page, len(content) - page, page):
        content[start : start + page] = b"\x5a" * page
    database.write_bytes(content)
    for verb in ("status", "report", "show"):
        what = ("2",) if verb == "show" else ()
        line = one_line_error(run(verb, *what, "--workspace", filled))
        assert "damaged" in line or "malformed" in line, line


@pytest.mark.parametrize("seed", range(30))
def test_no_damage_ends_in_a_traceback(filled: Path, seed: int) -> None:
    """Bytes changed, a page of zeros, or an end that is missing, anywhere in the file."""
    rng = random.Random(seed)
    database = filled / "kernelmill.db"
    content = bytearray(database.read_bytes())
    if seed % 3 == 0:
        for _ in range(rng.choice((10, 100, 1000))):
            content[rng.randrange(100, len(content))] = rng.randrange(256)
    elif seed % 3 == 1:
        page = 4096 * rng.randrange(1, len(content) // 4096)
        content[page : page + 4096] = bytes(4096)
    else:
        del content[rng.randrange(100, len(content)) :]
    database.write_bytes(content)
    for verb in ("status", "report", "show 2", "memory show", "memory audit"):
        done = CliRunner().invoke(app, [*verb.split(), "--workspace", str(filled)])
        expected = KernelmillError | sqlite3.DatabaseError | SystemExit | None
        assert isinstance(done.exception, expected), (verb, done.exc_info)


def test_an_error_may_quote_anything(filled: Path, tmp_path: Path) -> None:
    """SQLite quotes what it cannot read: markup and control characters among it."""
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        transaction.execute("UPDATE attempts SET reason = CAST(x'5b2f785d1b5b6dff' AS TEXT)")
    line = one_line_error(run("show", "1", "--workspace", filled))
    assert "damaged" in line and "[/x]" in line and "\x1b" not in line
    assert "[/x] is not" in one_line_error(run("status", "--workspace", tmp_path / "[/x]"))


def test_a_damaged_record_is_an_error_in_one_line(filled: Path) -> None:
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        transaction.execute("UPDATE verdicts SET body = x'00' WHERE attempt = 2")
    assert "a Verdict in the database" in one_line_error(run("show", "2", "--workspace", filled))


def test_an_ascii_locale_prints_what_it_can(filled: Path) -> None:
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        transaction.execute("UPDATE attempts SET reason = 'gr\u00f6\u00dfer \u2713' WHERE id = 4")
    page = filled / "page.html"
    done = run(
        "report", "--workspace", filled, "--html", page,
        LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "gr??er ?" in done.stdout
    assert "gr\u00f6\u00dfer" in page.read_text(encoding="utf-8")


def test_an_encoding_of_the_output_loses_no_more_than_it_must(filled: Path) -> None:
    with Workspace(filled) as workspace, workspace.writing() as transaction:
        transaction.execute("UPDATE attempts SET reason = 'gr\u00f6\u00dfer \u2713' WHERE id = 4")
    at = ("--workspace", filled)
    done = run("show", "4", *at, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "gr??er ?" in done.stdout, done.stderr
    done = run("show", "4", "--json", *at, PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout)["attempt"]["reason"] == "gr\u00f6\u00dfer \u2713"


@pytest.mark.parametrize("width", [60, 80])
def test_help_cuts_no_sentence(width: int) -> None:
    for group in ((), ("backend",), ("memory",), ("skills",), ("tasks",), ("workspace",)):
        shown = run(*group, "-h", COLUMNS=str(width)).stdout
        commands = shown.partition("Commands:")[2]
        assert commands and "..." not in commands, shown
        assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("one  two\nthree", "one two three"),
        ("one two three fours", "one two ..."),
        ("one two thre fours", "one two thre ..."),
        ("x" * 30, "x" * 12 + " ..."),
    ],
)
def test_the_beginning_of_a_text_ends_with_a_word(text: str, wanted: str) -> None:
    assert beginning(text, 16) == wanted


def test_help_has_a_short_name_and_shells_complete() -> None:
    assert run("-h").stdout == run("--help").stdout
    assert "--workspace" in run("status", "-h").stdout
    done = run(_KERNELMILL_COMPLETE="complete_bash", COMP_WORDS="kernelmill st", COMP_CWORD="1")
    assert "status" in done.stdout.split()


def test_a_missing_tool_chain_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [Requirement("Triton", "", "pip install triton")]
    monkeypatch.setattr(TritonBackend, "requirements", lambda _self: missing)
    monkeypatch.setattr(api, "Judge", lambda *_: pytest.fail("no judge is opened"))
    with pytest.raises(BackendUnavailable, match="pip install triton"):
        list(api.verify_examples("starter", backend="triton"))
    with pytest.raises(BackendUnavailable, match="pip install triton"):
        api.verify("starter/softmax", {"model.py": "pass"}, backend="triton")


def test_the_reader_of_a_pipe_may_leave(filled: Path) -> None:
    command = f"{sys.executable} -m kernelmill report --json --workspace {filled} | head -1"
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", command], capture_output=True, text=True
    )
    assert done.stdout.strip() == "{" and "Traceback" not in done.stderr
    assert not re.search("Error", done.stderr)
