"""The command line, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernelmill", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", **environment},
    )


def one_line_error(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    line = done.stderr.strip()
    assert line.startswith("error: ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize("verb", ["verify", "prompt"])
@pytest.mark.parametrize("backend", ["triton", "cuda", "ascendc"])
def test_a_backend_that_is_not_here_says_what_it_lacks(verb: str, backend: str) -> None:
    if all(need.found for need in get_backend(backend).requirements()):
        pytest.skip("it is here")
    done = run(verb, "starter/softmax", "--backend", backend)
    if (verb, backend) == ("prompt", "triton"):
        assert done.returncode == 0, "a prompt needs no Triton"
    else:
        assert backend in one_line_error(done)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "model.py").write_text(MODEL)
    (tmp_path / "kernel" / "kernel.cpp").write_text(KERNEL)
    return tmp_path


def test_mistakes_end_in_one_line_and_code_2(written: Path) -> None:
    assert "no suite" in one_line_error(run("verify", "nothing"))
    assert "no backend" in one_line_error(run("verify", "starter", "--backend", "abacus"))
    assert "starter is 12 tasks: name one of them, e.g. starter/" in one_line_error(
        run("verify", "starter", written)
    )
    task = written / "task.py"
    assert "no candidate" in one_line_error(run("verify", task, written / "nothing"))
    assert "has no model.py" in one_line_error(run("verify", task, written))
    assert "ships no examples" in one_line_error(run("verify", task))


def test_debug_shows_the_traceback() -> None:
    done = run("--debug", "verify", "nothing")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


@pytest.mark.compiler
def test_verify_prints_a_table_and_writes_evidence(written: Path) -> None:
    evidence = written / "verdicts.jsonl"
    done = run(
        "verify", written / "task.py", written / "kernel", "--no-compile", "--rounds", "5",
        "--json", evidence,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 of 1 correct" in done.stdout
    verdict = json.loads(evidence.read_text())
    assert verdict["passed"]
    assert {"seeds", "machine", "versions", "clock", "isolation"} <= verdict["evidence"].keys()


@pytest.mark.compiler
def test_a_refusal_is_exit_code_1_and_says_why(written: Path) -> None:
    kernel = written / "kernel" / "kernel.cpp"
    kernel.write_text(KERNEL.replace("2 *", "3 *"))
    done = run("verify", written / "task.py", written / "kernel", "--no-compile")
    assert done.returncode == 1
    assert "refused" in done.stdout
    assert "numerical" in done.stdout


@pytest.mark.compiler
def test_a_missing_compiler_is_a_users_error(written: Path, tmp_path: Path) -> None:
    done = run("verify", written / "task.py", written / "kernel", PATH=str(tmp_path), CXX="")
    assert "apt-get install g++" in one_line_error(done)


def test_doctor_says_what_there_is() -> None:
    done = run("doctor")
    assert "isolation" in done.stdout
    assert all(name in done.stdout for name in ("cpp", "pallas", "objdump"))


def test_tasks_lists_suites() -> None:
    done = run("tasks", "list")
    assert done.returncode == 0
    assert "starter/gelu" in done.stdout
