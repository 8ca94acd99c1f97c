"""Documentation is run, not believed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").glob("*.md")]
)


@pytest.fixture(autouse=True)
def _generators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "docs"))


def test_the_reference_of_the_command_line_is_current() -> None:
    from generate_cli import reference

    assert (PROJECT / "docs" / "cli.md").read_text() == reference(), "run `make docs`"


def test_the_list_of_exploits_is_current() -> None:
    from generate_exploits import reference

    assert (PROJECT / "docs" / "exploits.md").read_text() == reference(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.compiler
def test_the_library_example_runs() -> None:
    (example,) = re.findall(
        r"```python\n(.*?)```", (PROJECT / "docs" / "judge.md").read_text(), re.S
    )
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ")


@pytest.mark.compiler
def test_the_candidate_example_builds_and_passes(tmp_path: Path) -> None:
    text = (PROJECT / "docs" / "candidates.md").read_text()
    (tmp_path / "relu").mkdir()
    for language, file in (("python", "model.py"), ("cpp", "kernel.cpp")):
        (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.S)
        (tmp_path / "relu" / file).write_text(code)
    command = [sys.executable, "-m", "kernelmill", "verify", "basic/relu", tmp_path / "relu"]
    done = subprocess.run([*command, "--no-compile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_task_example_is_a_task(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "tasks.md").read_text(), re.S)
    (tmp_path / "task.py").write_text(code)
    command = [sys.executable, "-m", "kernelmill", "tasks", "show", tmp_path / "task.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "hidden shapes" in done.stdout


def test_the_example_of_a_workspace_runs() -> None:
    done = run_python_of("workspace.md")
    assert done.stdout == "0 campaigns\n", done.stderr


def test_the_example_of_a_strategy_conforms(tmp_path: Path) -> None:
    (tmp_path / "test_afresh.py").write_text(python_of("strategies.md"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_every_verb_in_the_page_on_campaigns_is_one() -> None:
    page = (PROJECT / "docs" / "campaigns.md").read_text()
    reference = (PROJECT / "docs" / "cli.md").read_text()
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    for line in block.splitlines():
        verb = line.split()[1]
        (usage,) = re.findall(rf"## kernelmill {verb}\n\n```text\n(.*?)```", reference, re.S)
        for option in re.findall(r"--[a-z-]+", line):
            assert option in usage


def python_of(page: str) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / page).read_text(), re.S)
    return str(code)


def run_python_of(page: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", python_of(page)]
    return subprocess.run(command, capture_output=True, text=True)
