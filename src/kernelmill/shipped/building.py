"""Building and importing of one kernel's folder, with the standard library alone.

`build.json` beside the sources says how they were compiled when they were judged. A library is
built on first use, for the processor at hand, and kept in the user's cache folder.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

BUILD_FILE = "build.json"
MODEL_FILE = "model.py"
_SECONDS = 600
_lock = threading.Lock()
_loaded: dict[str, ModuleType] = {}


class KernelUnavailable(ImportError):
    """A kernel cannot be built or imported on this machine."""


def load_kernel(folder: str | Path) -> ModuleType:
    """The module of a kernel's model.py, built where it needs that. Raises KernelUnavailable.

    May be called from several threads and processes at once.
    """
    folder = Path(folder).resolve()
    recipe = read_recipe(folder)
    key = _digest(folder, recipe)
    with _lock:
        if key not in _loaded:
            home = build_library(folder) if recipe["library"] else folder
            _loaded[key] = _import(home / MODEL_FILE, f"kernelmill_kernel_{key}")
        return _loaded[key]


def read_recipe(folder: Path) -> dict[str, Any]:
    try:
        recipe: dict[str, Any] = json.loads((folder / BUILD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KernelUnavailable(f"{folder / BUILD_FILE} cannot be read: {error}") from error
    return recipe


def build_library(folder: str | Path) -> Path:
    """The folder that holds the sources and their library, built now or before."""
    folder = Path(folder).resolve()
    recipe = read_recipe(folder)
    compiler = find_compiler(recipe)
    home = _cache_folder() / _digest(folder, recipe, compiler)
    if (home / recipe["library"]).is_file():
        return home
    made = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
    try:
        for name in recipe["files"]:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, made / name)
        _compile(made, recipe, compiler)
        with contextlib.suppress(OSError):  # another process may be faster
            made.rename(home)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return home


def find_compiler(recipe: dict[str, Any]) -> str:
    names: list[str] = [os.environ.get(recipe["variable"], ""), *recipe["compilers"]]
    for name in names:
        if name and (path := shutil.which(name)):
            return path
    raise KernelUnavailable(
        f"this kernel is built with one of {', '.join(recipe['compilers'])}, and none is "
        f"installed; install one, or name one in {recipe['variable']}"
    )


def _compile(home: Path, recipe: dict[str, Any], compiler: str) -> None:
    command = [compiler, *recipe["flags"], "-o", recipe["library"]]
    command += [*recipe["sources"], *recipe["link"]]
    try:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelUnavailable(f"{compiler} does not build this kernel: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise KernelUnavailable(f"{compiler} does not build this kernel:\n{said}")


def _cache_folder() -> Path:
    """A folder that can be written: the user's cache, else one for this process."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "kernelmill" / "shipped"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return _private_folder()


_private: list[tempfile.TemporaryDirectory[str]] = []


def _private_folder() -> Path:
    if not _private:
        _private.append(tempfile.TemporaryDirectory(prefix="kernelmill-"))
    return Path(_private[0].name)


def _digest(folder: Path, recipe: dict[str, Any], compiler: str = "") -> str:
    """Digest of everything that the library depends on."""
    whole = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode())
    for name in recipe["files"]:
        try:
            whole.update((folder / name).read_bytes())
        except OSError as error:
            raise KernelUnavailable(f"{folder / name} cannot be read: {error}") from error
    if compiler:
        status = os.stat(compiler)
        whole.update(f"{compiler} {status.st_size} {status.st_mtime_ns} {_processor()}".encode())
    return whole.hexdigest()[:24]


def _processor() -> str:
    """The processor's features, on which -march=native depends."""
    try:
        with open("/proc/cpuinfo") as info:
            return next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        return ""


def _import(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KernelUnavailable(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (ImportError, OSError, AttributeError) as error:
        del sys.modules[name]
        raise KernelUnavailable(f"{path} cannot be imported: {error}") from error
    return module
