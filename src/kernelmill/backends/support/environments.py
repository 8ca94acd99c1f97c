"""Python environments of tool chains whose pinned packages conflict with others.

An environment is a folder made from a requirements file. A record is written into it last: a folder
without a record, or with one of other requirements, is incomplete and is made again.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kernelmill.places import data_home
from kernelmill.records.errors import BackendUnavailable

_RECORD = "kernelmill.json"
_VARIABLE = "KERNELMILL_ENVIRONMENTS"
_CHECK_SECONDS = 300
_SHOWN_LINES = 6
_VERSIONS = """
import sys
from importlib.metadata import PackageNotFoundError, version
for pin in sys.argv[1:]:
    name, _, wanted = pin.partition("==")
    try:
        found = version(name).partition("+")[0]
    except PackageNotFoundError:
        found = "missing"
    if found != wanted:
        sys.exit(f"{name} is {found}, not {wanted}")
"""


class _Record(msgspec.Struct, frozen=True):
    """Versions that an environment was made for."""

    requirements: str
    """Digest of the requirements file."""
    python: str


def environments_folder() -> Path:
    chosen = os.environ.get(_VARIABLE)
    return Path(chosen) if chosen else data_home() / "environments"


class Environment:
    """The environment of one tool chain. Construction does nothing; methods look at the disk."""

    def __init__(self, name: str, requirements: Path) -> None:
        """`requirements` pins every package as name==version, one per line."""
        self.name = name
        self._requirements = requirements

    @property
    def folder(self) -> Path:
        return environments_folder() / self.name

    @property
    def python(self) -> str:
        """Path of its interpreter. Raises BackendUnavailable if the environment is incomplete."""
        self.demand()
        return str(self._python)

    @property
    def remedy(self) -> str:
        return f"kernelmill backend install {self.name}"

    @property
    def found(self) -> str:
        """Its folder; empty if it is incomplete."""
        return "" if self.trouble() else str(self.folder)

    def trouble(self) -> str:
        """Why it cannot be used; empty if it can."""
        if not self.folder.is_dir():
            return "not installed"
        try:
            record = msgspec.json.decode((self.folder / _RECORD).read_bytes(), type=_Record)
        except (OSError, msgspec.DecodeError):
            return "only partly installed"
        if record != self._record():
            return "installed for another version of Kernelmill or Python"
        return "" if self._python.exists() else "damaged: its Python is gone"

    def demand(self) -> None:
        """Raise BackendUnavailable if it cannot be used."""
        if trouble := self.trouble():
            raise BackendUnavailable(f"the {self.name} tool chain is {trouble}: {self.remedy}")

    def pins(self) -> list[str]:
        lines = (line.partition("#")[0].strip() for line in self._requirements.open())
        return [line for line in lines if line]

    def install(self) -> bool:
        """Make it if it is incomplete. Returns whether there was anything to do.

        Raises BackendUnavailable. May be killed at any time, and may run twice at once.
        """
        with self._locked():
            if not self.trouble() and not self._wrong_packages():
                return False
            shutil.rmtree(self.folder, ignore_errors=True)
            empty = not self.pins()
            bare = ["--without-pip"] if empty else []
            self._run([sys.executable, "-m", "venv", *bare, str(self.folder)])
            if not empty:
                self._install_packages()
            if wrong := self._wrong_packages():
                raise BackendUnavailable(f"the {self.name} tool chain did not install: {wrong}")
            (self.folder / _RECORD).write_bytes(msgspec.json.encode(self._record()))
        return True

    def _install_packages(self) -> None:
        pip = [str(self._python), "-m", "pip", "install", "--disable-pip-version-check"]
        self._run([*pip, "--quiet", "--requirement", str(self._requirements)])

    @property
    def _python(self) -> Path:
        return self.folder / "bin" / "python"

    def _record(self) -> _Record:
        digest = hashlib.sha256("\n".join(self.pins()).encode()).hexdigest()[:16]
        return _Record(digest, platform.python_version())

    def _wrong_packages(self) -> str:
        """The first package that differs from its pin, as its own Python sees it; empty if none."""
        command = [str(self._python), "-c", _VERSIONS, *self.pins()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return done.stderr.strip() if done.returncode else ""

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()[-_SHOWN_LINES:]
            said = "\n".join(lines)
            raise BackendUnavailable(f"the {self.name} tool chain did not install:\n{said}")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            environments_folder().mkdir(parents=True, exist_ok=True)
            lock = (environments_folder() / f"{self.name}.lock").open("w")
        except OSError as error:
            raise BackendUnavailable(
                f"cannot write {environments_folder()} ({error.strerror}): set {_VARIABLE}"
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
