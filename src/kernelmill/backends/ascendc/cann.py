"""The installation of Huawei's CANN, found by the variables that its `set_env.sh` sets."""

import functools
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sysconfig
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends.base import Requirement
from kernelmill.backends.support.ascend_devices import npu_cards
from kernelmill.backends.support.inline import framework_folders
from kernelmill.records.errors import BackendUnavailable

_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_VARIABLES = (
    *_HOMES, "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "TOOLCHAIN_HOME", "PATH", "LD_LIBRARY_PATH",
    "PYTHONPATH",
)  # fmt: skip
_INSTALL_CANN = (
    "install CANN and source its set_env.sh: /usr/local/Ascend/ascend-toolkit/set_env.sh"
)
_VERSION = re.compile(r"^\s*(?:Version|package_version)\s*=\s*(\S+)", re.MULTILINE | re.IGNORECASE)
_VERSION_FILES = ("version.cfg", "compiler/version.info", "toolkit/version.info")


class Cann(NamedTuple):
    root: Path
    version: str
    soc: str
    compiler: str
    headers: tuple[str, ...]
    libraries: tuple[str, ...]
    environment: dict[str, str]
    torch_npu: Path | None = None
    """The folder of the package, which builds and candidates read."""

    @property
    def folders(self) -> tuple[str, ...]:
        """What a sandbox that builds or runs an operator reads."""
        packages = [str(self.torch_npu.parent)] if self.torch_npu else []
        return (str(self.root), *packages)


def find_cann(soc: str) -> Cann:
    """Raises BackendUnavailable with the first requirement that is missing."""
    missing = next((need for need in requirements() if not need.found), None)
    if missing is not None:
        raise BackendUnavailable(f"the ascendc backend needs {missing.name}: {missing.remedy}")
    root = _root()
    torch_npu = _torch_npu_folder()
    compiler = shutil.which("g++")
    assert root is not None and torch_npu is not None and compiler is not None
    return Cann(
        root=root,
        version=_version(root),
        soc=soc,
        compiler=compiler,
        headers=(
            *framework_folders("include"),
            sysconfig.get_paths()["include"],
            str(torch_npu / "include"),
            str(root / "include"),
        ),
        libraries=(*framework_folders("lib"), str(torch_npu / "lib"), str(root / "lib64")),
        environment={name: os.environ[name] for name in _VARIABLES if name in os.environ},
        torch_npu=torch_npu,
    )


def requirements() -> list[Requirement]:
    root, torch_npu = _root(), _torch_npu_folder()
    cards = npu_cards()
    return [
        Requirement("CANN", f"{_version(root)} in {root}" if root else "", _INSTALL_CANN),
        Requirement("msopgen", shutil.which("msopgen") or "", _INSTALL_CANN),
        Requirement("msprof", shutil.which("msprof") or "", _INSTALL_CANN),
        Requirement(
            "torch_npu", _torch_npu_version() or str(torch_npu or ""),
            "pip install torch_npu, in the version that matches torch",
        ),
        Requirement("C++ compiler", shutil.which("g++") or "", "apt-get install g++"),
        Requirement("Ascend NPU", ", ".join(cards), "a machine with an Ascend NPU and its driver"),
    ]  # fmt: skip


def _root() -> Path | None:
    named = next((os.environ[name] for name in _HOMES if os.environ.get(name)), "")
    return Path(named) if named and Path(named).is_dir() else None


@functools.cache
def _version(root: Path) -> str:
    for file in _VERSION_FILES:
        if (root / file).is_file():
            found = _VERSION.search((root / file).read_text(errors="replace"))
            if found:
                return found[1].strip("[]")
    return "of unknown version"


def _torch_npu_version() -> str:
    """Empty where it is not there, or was not installed as a package."""
    try:
        return importlib.metadata.version("torch_npu")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _torch_npu_folder() -> Path | None:
    spec = importlib.util.find_spec("torch_npu")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None
