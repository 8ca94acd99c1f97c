"""A champion's folder: imported, built once, and judged again without its loader."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from judge.kernels import KERNEL, MODEL
from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.shipping import write_importable
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.shipped.building import KernelUnavailable, load_kernel

CANDIDATE = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE, "double")
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(("kernelmill", "msgspec", "jinja2", "rich", "typer")))
from double import ModelNew
import torch
model = ModelNew(8)
assert torch.equal(model(torch.ones(3, 8)), torch.full((3, 8), 2.0))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "best" / "double"
    write_importable(path, CANDIDATE, get_backend("cpp").ship(CANDIDATE))
    return path


@pytest.mark.compiler
def test_it_is_imported_without_kernelmill_by_several_at_once(folder: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=folder.parent, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    built = list((folder.parent.parent / "cache" / "kernelmill" / "shipped").iterdir())
    assert len(built) == 1 and (built[0] / "kernel.so").is_file()


def test_the_loader_is_no_part_of_the_candidate(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} > {"__init__.py", "building.py", "build.json"}
    assert read_candidate(folder).digest == CANDIDATE.digest
    (folder / "__init__.py").write_text("import os")
    assert "__init__.py" in read_candidate(folder).files


def test_what_cannot_be_built_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = json.loads((folder / "build.json").read_text())
    assert "-O3" in recipe["flags"]
    monkeypatch.delenv("CXX", raising=False)
    (folder / "build.json").write_text(json.dumps(recipe | {"compilers": ["no-such-compiler"]}))
    with pytest.raises(KernelUnavailable, match="no-such-compiler, and none is installed"):
        load_kernel(folder)
    (folder / "build.json").unlink()
    with pytest.raises(KernelUnavailable, match=r"build\.json cannot be read"):
        load_kernel(folder)


@pytest.mark.compiler
def test_a_compiler_that_objects_is_quoted(folder: Path) -> None:
    (folder / "kernel.cpp").write_text("this is no C++")
    with pytest.raises(KernelUnavailable, match=r"does not build this kernel:\nkernel\.cpp:1"):
        load_kernel(folder)
    assert not list((folder.parent.parent / "cache" / "kernelmill" / "shipped").iterdir())


def test_a_kernel_that_only_a_simulator_runs_has_no_loader(tmp_path: Path) -> None:
    write_importable(tmp_path, CANDIDATE, get_backend("pallas").ship(CANDIDATE))
    assert {path.name for path in tmp_path.iterdir()} == {"model.py", "kernel.cpp"}
