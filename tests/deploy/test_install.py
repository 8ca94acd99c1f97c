"""An exported package in an environment of its own (make test-deploy): torch, numpy and no more."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from deploy.workspaces import SCALED_NORM, store_champions
from kernelmill.deploy.export import PackageLayout, export_campaign
from kernelmill.workspace import Workspace

PROJECT = Path(__file__).parent.parent.parent
HUB = """
from pathlib import Path
import torch
from kernels import get_local_kernel
from kernels._rust import Build

Build.open("hub_kernels")
package = get_local_kernel(Path("hub_kernels"))
model = torch.compile(package.ScaledNorm(8), fullgraph=True, backend="aot_eager")
with torch.no_grad():
    model(torch.randn(4, 8), torch.randn(4, 8))
assert package.engagement()["scaled_norm"].kernel == 1
"""

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        not os.environ.get("KERNELMILL_INSTALL"), reason="downloads torch: make test-deploy"
    ),
]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_package_installs_and_passes_its_tests(tmp_path: Path) -> None:
    store_champions(tmp_path / "w", {"mine/scaled_norm": SCALED_NORM})
    with Workspace(tmp_path / "w") as workspace:
        export_campaign(workspace, None, tmp_path / "own_kernels")
        export_campaign(workspace, None, tmp_path / "hub_kernels", layout=PackageLayout.HF_KERNELS)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", ".", "./own_kernels", cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    install = (python, "-m", "pip", "install", "-q", "-c", PROJECT / "constraints.txt")
    run(*install, "numpy", wheel, cwd=tmp_path)
    listed = run(python, "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    assert "own-kernels==1" in listed or "own_kernels==1" in listed
    assert not any(name in listed for name in ("kernelmill", "msgspec", "rich=="))
    tests = tmp_path / "own_kernels" / "tests"
    run(python, "-m", "unittest", "discover", tests, cwd=tests)
    run(*install[:-2], "kernels", cwd=tmp_path)
    run(python, "-c", HUB, cwd=tmp_path)
