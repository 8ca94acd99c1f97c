"""The declared order of folders is a contract that `make check` enforces."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "kernelmill"


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of pyproject.toml on a copy of the package."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    python_only = shutil.ignore_patterns("suites", "examples", "baselines", "__pycache__", "*.md")
    shutil.copytree(PACKAGE, tmp_path / "kernelmill", ignore=python_only)
    return tmp_path


def test_the_package_keeps_its_contracts(copied: Path) -> None:
    done = lint(copied)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "statement", "broken"),
    [
        ("records/task.py", "import kernelmill.tasks.loader", "A folder imports only from those"),
        ("backends/base.py", "import kernelmill.judge.judge", "A folder imports only from those"),
        ("report/page.py", "import kernelmill.campaign.loop", "A folder imports only from those"),
        (
            "judge/judge.py",
            "import kernelmill.backends.triton.backend",
            "The judge knows no single",
        ),
        (
            "judge/devices/cuda/device.py",
            "import kernelmill.judge.devices.cpu.harness",
            "Kinds of devices know nothing",
        ),
        (
            "judge/judge.py",
            "import kernelmill.judge.devices.cpu.harness",
            "General code knows no single device kind",
        ),
        (
            "skills/lint.py",
            "import kernelmill.generators.composer.composer",
            "General code knows no composer",
        ),
        (
            "generators/composer/loops/nest.py",
            "import kernelmill.generators.composer.targets.cpp.contraction",
            "A folder of the composer imports only",
        ),
        (
            "generators/composer/targets/rvv/program.py",
            "import kernelmill.generators.composer.targets.cpp.contraction",
            "Targets know nothing of each other",
        ),
    ],
)
def test_a_back_edge_breaks_a_contract(
    copied: Path, module: str, statement: str, broken: str
) -> None:
    file = copied / "kernelmill" / module
    file.write_text(file.read_text() + f"\n{statement}\n")
    done = lint(copied)
    assert done.returncode == 1
    assert f"{broken}" in done.stdout.partition("Broken contracts")[2]


def test_a_new_folder_must_take_its_place(copied: Path) -> None:
    (copied / "kernelmill" / "attic").mkdir()
    (copied / "kernelmill" / "attic" / "__init__.py").write_text("")
    done = lint(copied)
    assert done.returncode == 1
    assert "attic" in done.stdout
