"""Language models on the command line: options, errors, prompts, and keys that never leak."""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.test_command_line import one_line_error, run
from generators.model import endpoint
from generators.model.endpoint import Handler, say, serving, status
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.attempt import State
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.tasks import load_suite
from kernelmill.workspace import Workspace

pytest.importorskip("openai", reason="needs kernelmill[models]")
CANARY = "sk-canary-0123456789abcdef"
WHOLE = f"### model.py\n```python\n{MODEL}```\n\n### kernel.cpp\n```cpp\n{KERNEL}```\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--generator", "model"), "needs a model: name one with --model"),
        (("--model", "gpt-5.2"), "composer asks no model"),
        (("--generator", "model", "--audit"), "none is named: add --model"),
        (("--generator", "model", "--model", "gpt-5.2"), "needs a key: set OPENAI_API_KEY"),
        (("--generator", "script:/no/such.toml"), "cannot read the script"),
        (
            ("--generator", "model", "--model", "m@ollama", "--max-usd", "1"),
            "the price of m is unknown",
        ),
        (
            ("--generator", "model", "--model", "gpt-4o", "--max-usd", "0.01"),
            "one question may cost",
        ),
    ],
    ids=str,
)
def test_mistakes_are_said_before_anything_begins(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    key = CANARY if "--max-usd" in options else ""
    done = run("run", "starter/gelu", "--workspace", tmp_path / "w", *options, OPENAI_API_KEY=key)
    assert words in one_line_error(done)
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (status(401, "wrong key"), "refuses the key in KERNELMILL_API_KEY: "),
        (status(404, "no such model"), "has no model 'm'"),
    ],
)
def test_a_wrong_key_or_name_fails_before_anything_begins(
    behaviour: endpoint.Behaviour, words: str, tmp_path: Path
) -> None:
    with serving(behaviour) as server:
        done = run(
            "run", "starter/gelu", "--generator", "model", "--model", f"m@{server.address}",
            "--workspace", tmp_path / "w", KERNELMILL_API_KEY=CANARY,
        )  # fmt: skip
        assert len(server.asked) == 1
    assert words in one_line_error(done)
    assert not (tmp_path / "w").exists()


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, and every value of every database unpacked."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        yield str(path), path.read_bytes()
        if path.suffix == ".db":
            for value in _values(path):
                yield f"a value in {path}", value


def _values(path: Path) -> Iterator[bytes]:
    with sqlite3.connect(path) as database:
        tables = [
            row[0]
            for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            for row in database.execute(f"SELECT * FROM {table}"):
                for value in row:
                    if isinstance(value, str):
                        yield value.encode()
                    elif isinstance(value, bytes):
                        try:
                            yield zlib.decompress(value)
                        except zlib.error:
                            yield value


@pytest.mark.compiler
@pytest.mark.isolation
def test_a_key_appears_nowhere(tmp_path: Path) -> None:
    """Not even where the endpoint sends it back in answers and errors."""
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "models.toml").write_text(
        "[patience]\ntries = 2\nfirst_pause_seconds = 0.01\n"
        "[models.m]\ninput_usd = 1\noutput_usd = 1\n"
    )

    def with_echo(handler: Handler) -> None:
        say(WHOLE.replace("import ctypes", f"# {dict(handler.headers)}\nimport ctypes", 1))(handler)

    def failing_with_echo(handler: Handler) -> None:
        status(500, f"{dict(handler.headers)}")(handler)

    def unfit_with_echo(handler: Handler) -> None:
        status(400, f"{dict(handler.headers)}")(handler)

    script = (
        say("ready"), failing_with_echo, with_echo, unfit_with_echo, endpoint.echoing,
        endpoint.refusing_with_echo,
    )  # fmt: skip
    with serving(*script) as server:
        done = run(
            "--debug", "run", tmp_path / "task.py", "--generator", "model", "--model",
            f"m@{server.address}", "--models", tmp_path / "models.toml", "--budget", "6",
            "--rounds", "5", "--no-compile", "--workspace", tmp_path / "w",
            KERNELMILL_API_KEY=CANARY, XDG_CACHE_HOME=str(tmp_path / "cache"),
        )  # fmt: skip
        sent = [asked.headers["authorization"] for asked in server.asked]
    assert sent == [f"Bearer {CANARY}"] * len(script), done.stderr
    assert done.returncode == 3 and "refuses the key" in done.stdout
    seen = [("stdout", done.stdout.encode()), ("stderr", done.stderr.encode())]
    report = run("report", "--workspace", tmp_path / "w", "--html", tmp_path / "page.html")
    shown = run("show", "1", "--workspace", tmp_path / "w")
    seen += [("report", report.stdout.encode()), ("show", shown.stdout.encode())]
    for place, content in (*seen, *everything_in(tmp_path)):
        assert CANARY.encode() not in content, place
    with Workspace(tmp_path / "w") as workspace:
        assert workspace.attempt(1).state is State.DECLINED
        failed, leaking = workspace.calls(1)
    assert (
        "[key]" in failed.problem and "sent the key in KERNELMILL_API_KEY back" in leaking.problem
    )


@pytest.mark.compiler
@pytest.mark.isolation
def test_no_key_reaches_a_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/a/place/to/find")
    (tmp_path / "task.py").write_text(TASK)
    telling = "import os\nraise RuntimeError(str(dict(os.environ)))\n"
    candidate = Candidate({"model.py": telling, "kernel.cpp": KERNEL}, Origin.MODEL)
    with Judge(get_backend("cpp"), JudgeSettings(rounds=5, static_rules=False)) as judge:
        task = judge.describe(load_suite(str(tmp_path / "task.py"))[0])
        said = judge.verify(task, candidate).to_json().decode()
    assert "/a/place/to/find" in said
    assert CANARY not in said


@pytest.mark.compiler
@pytest.mark.isolation
def test_a_campaign_with_a_model_is_resumed_with_it(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    with serving(say("ready"), say(WHOLE, tokens_in=1500, tokens_out=300)) as server:
        server.otherwise = say("I have nothing to add.")
        done = run(
            "run", tmp_path / "task.py", "--generator", "model", "--model", f"m@{server.address}",
            "--budget", "1", "--rounds", "5", "--no-compile", "--workspace", tmp_path / "w",
            XDG_CACHE_HOME=str(tmp_path / "cache"),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "generator m 1 0 0 1,500 300 unknown" in " ".join(done.stdout.split())
        again = run(
            "resume", tmp_path / "w", "--budget", "2", XDG_CACHE_HOME=str(tmp_path / "cache")
        )
        assert again.returncode == 0, again.stderr
        assert "declined: the optimizer's answers cannot be used: no block" in again.stdout
        assert len(server.asked) == 5
    shown = run("show", "2", "--workspace", tmp_path / "w").stdout
    assert shown.count("called m as optimizer: 100 tokens in, 10 out, unknown") == 2
    refused = run("resume", tmp_path / "w", "--budget", "3", "--max-usd", "1")
    assert "the price of m is unknown" in one_line_error(refused)


def test_what_would_be_sent_is_printed(tmp_path: Path) -> None:
    done = run("prompt", "starter/softmax", "--workspace", tmp_path / "none")
    assert done.returncode == 0, done.stderr
    system, user = done.stdout.removeprefix("=== system\n").split("\n=== user\n")
    assert system.startswith("You are a performance engineer")
    assert "# The task: starter/softmax" in user and "HIDDEN" not in user
    assert "for the generator: about" in done.stderr
    assert not (tmp_path / "none").exists()
    small = run(
        "prompt", "starter/softmax", "--workspace", tmp_path / "none", "--prompt-tokens", "2300"
    )
    assert "(Left out for lack of room: " in small.stdout
    mistake = run(
        "prompt", "starter/softmax", "--stage", "refine", "--workspace", tmp_path / "none"
    )
    assert "nothing to refine" in one_line_error(mistake)
