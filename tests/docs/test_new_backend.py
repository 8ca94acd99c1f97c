"""The way of docs/new-backend.md, walked; only pip's part is done by hand, without a network."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kernelmill.backends.scaffolding import scaffold
from kernelmill.records.errors import UsageError

PAGE = (Path(__file__).parents[2] / "docs" / "new-backend.md").read_text()
INSTALL = "pip install -e '.[test]'"


def commands() -> list[str]:
    block = re.search(r"```sh\n(.*?)```", PAGE, re.S)
    assert block is not None
    # The first line activates the environment that the tests run in.
    return [line for line in block[1].splitlines() if not line.startswith(". ")]


def make_findable(package: Path) -> str:
    """What pip would leave: the package on the path, and its entry points beside it."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    record = package / "src" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    record.mkdir()
    lead = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (record / "METADATA").write_text(lead)
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (record / "entry_points.txt").write_text("\n".join(lines))
    return str(package / "src")


@pytest.mark.slow
@pytest.mark.compiler
def test_the_way_leads_to_a_backend_that_conforms(tmp_path: Path) -> None:
    folder, environment = tmp_path, {**os.environ, "COLUMNS": "200"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    for line in commands():
        words = shlex.split(line)
        if words[0] == "cd":
            folder = folder / words[1]
        elif line == INSTALL:
            path = make_findable(folder)
            environment["PYTHONPATH"] += os.pathsep + path
        else:
            quick = ["--rounds", "5"] if "verify" in words else []
            command = [sys.executable, "-m", *words, *quick]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            if words == ["pytest"]:
                assert "skipped" not in done.stdout, done.stdout
            if words[-1] == "doctor":
                assert "acme" in done.stdout
    assert folder.name == "kernelmill-acme"


def test_every_file_the_page_names_is_written(tmp_path: Path) -> None:
    written = [
        str(path.relative_to(tmp_path / "new")) for path in scaffold("acme", tmp_path / "new")
    ]
    for named in re.findall(r"^\| `([^`]+)`", PAGE, re.M):
        pattern = re.escape(named).replace(r"\*", "[^/]+").replace("SUITE/TASK/", r"[^/]+/[^/]+/.*")
        assert any(re.fullmatch(pattern, path) for path in written), named
    assert not [path for path in written if "NAME" in path or path.endswith(".j2")]


@pytest.mark.parametrize("name", ["cpp", "Acme", "a-b", "", "1a", "../x"])
def test_names_that_cannot_be_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        scaffold(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UsageError, match="already"):
        scaffold("acme", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
