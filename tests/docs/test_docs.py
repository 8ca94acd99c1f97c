"""The documentation: examples run, links lead somewhere, generated pages are current."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").rglob("*.md")]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.compiler
def test_the_example_of_an_open_judge_runs() -> None:
    (example,) = python_blocks("judge.md")
    assert run_python(example).startswith("True ")


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.isolation
def test_the_examples_of_the_library_run() -> None:
    verify, campaign = python_blocks("library.md")
    outcome, speed = run_python(verify).splitlines()
    assert outcome == "passed"
    assert re.fullmatch(r"[\d.]+x \[[\d.]+, [\d.]+\] over eager", speed)
    ending, attempt, files, _ = run_python(campaign).splitlines()
    assert ending.startswith("complete")
    assert attempt == "attempt 1: passed"
    assert "kernel.cpp" in files


def test_the_example_of_an_optimized_model_runs() -> None:
    (example,) = python_blocks("deploy.md")
    assert run_python(example) == "no kernel makes it faster\n[('gelu',), ('add',)]\nTrue True\n"


def test_every_verb_in_the_page_on_using_kernels_is_one() -> None:
    reference = (PROJECT / "docs" / "cli.md").read_text()
    commands = re.findall(
        r"^kernelmill (\w+) ([^#\n]*)", (PROJECT / "docs" / "deploy.md").read_text(), re.M
    )
    assert {verb for verb, _ in commands} == {"export", "extract", "run", "patch"}
    for verb, options in commands:
        (usage,) = re.findall(rf"## kernelmill {verb}\n\n```text\n(.*?)```", reference, re.S)
        for option in re.findall(r"--[a-z-]+", options):
            assert option in usage


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
    code, domain = python_blocks("tasks.md")
    (tmp_path / "task.py").write_text(code)
    compile(domain, "tasks.md", "exec")
    command = [sys.executable, "-m", "kernelmill", "tasks", "show", tmp_path / "task.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "hidden shapes" in done.stdout


def test_the_example_of_a_workspace_runs() -> None:
    (example,) = python_blocks("workspace.md")
    assert run_python(example) == "0 campaigns\n"


def test_the_example_of_a_strategy_conforms(tmp_path: Path) -> None:
    (example,) = python_blocks("strategies.md")
    (tmp_path / "test_afresh.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_every_verb_in_the_page_on_campaigns_is_one() -> None:
    page = (PROJECT / "docs" / "campaigns.md").read_text()
    reference = (PROJECT / "docs" / "cli.md").read_text()
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.S)
    for line in block.splitlines():
        if not line.startswith("kernelmill "):
            continue  # activates the environment
        verb = line.split()[1]
        (usage,) = re.findall(rf"## kernelmill {verb}\n\n```text\n(.*?)```", reference, re.S)
        for option in re.findall(r"--[a-z-]+", line):
            assert option in usage


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.isolation
@pytest.mark.timeout(900)
def test_the_first_hour_can_be_followed(tmp_path: Path) -> None:
    """Its files are written, and its commands run one after the other in an empty folder."""
    page = (PROJECT / "docs" / "first-hour.md").read_text()
    files = re.findall(r"^`([\w.]+)`:\n\n(`{3,})\w+\n(.*?)^\2\n", page, re.S | re.M)
    for name, _, text in files:
        (tmp_path / name).write_text(text)
    commands = re.findall(r"^(?:python|kernelmill) .*$", page, re.M)
    assert len(commands) >= 9
    said = {command: run_command(command, tmp_path) for command in commands}
    first = said["python my_model.py"]
    assert "kernels found in the workspace: 0, searched: 1 " in first
    again = run_command("python my_model.py", tmp_path)
    assert "kernels found in the workspace: 1, searched: 0 " in again
    for output in (first, again):
        assert "Sequential on cpp: faster\n" in output
        assert "kinds of regions: 1, replaced: 1\n" in output
        assert output.endswith("as before: True\n")
    assert (tmp_path / "report.html").is_file() and (tmp_path / "report.csv").is_file()
    assert "1 of 1 task solved" in run_command("kernelmill report", tmp_path)


def test_the_example_of_a_client_lists_tasks() -> None:
    pytest.importorskip("mcp", reason="needs kernelmill[mcp]")
    (example,) = python_blocks("agents.md")
    assert run_python(example) == "starter/gelu open 30\n"


def test_the_exit_codes_and_read_verbs_are_those_of_the_program() -> None:
    from kernelmill.cli.progress import INTERRUPTED, PAUSED
    from kernelmill.cli.schema import SCHEMAS

    page = (PROJECT / "docs" / "scripting.md").read_text()
    assert f"| {PAUSED} |" in page and f"| {INTERRUPTED} |" in page
    for name in SCHEMAS:
        assert f"`{name}`" in page or name == "verify", name


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / page).read_text(), re.S)


def run_command(command: str, folder: Path) -> str:
    """The output of a command from a page, which must succeed."""
    program = command.removeprefix("python ") if command.startswith("python") else f"-m {command}"
    done = subprocess.run(
        [sys.executable, *program.split()], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
