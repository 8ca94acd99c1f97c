"""Loader of task files from a built-in suite, a file, a folder or a KernelBench checkout.

Nothing is executed here; a task file is as untrusted as a candidate.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kernelmill.records.errors import TaskError, UsageError
from kernelmill.records.tensors import HALF_TYPES
from kernelmill.records.text import clean_line
from kernelmill.syntax import parse_python
from kernelmill.tasks.families import family_of_folder

_BUILT_IN = Path(__file__).with_name("suites")
_LARGEST = 1 << 20
_SCHEMES = {
    # Folder of the tasks within a checkout, by scheme.
    "kernelbench": "KernelBench",
    "multikernelbench": "reference",
}


class TaskFile(msgspec.Struct, frozen=True):
    """A task file that was read, not run."""

    id: str
    path: str
    source: str
    family: str | None
    """The family its folder is named for; None where it is named for none."""


def suite_names() -> tuple[str, ...]:
    return tuple(sorted(p.name for p in _BUILT_IN.iterdir() if any(p.rglob("*.py"))))


def load_suite(spec: str) -> tuple[TaskFile, ...]:
    """The tasks that `starter`, `starter/gelu`, a path or `kernelbench:PATH/level1` names.

    With a type behind it (`starter@bfloat16`), models and inputs are converted to that.
    """
    name, _, dtype = spec.rpartition("@")
    if name and dtype in HALF_TYPES:
        return tuple(_converted(file, dtype) for file in load_suite(name))
    scheme, _, rest = spec.partition(":")
    if rest and scheme in _SCHEMES:
        return _load_checkout(scheme, Path(rest))
    if (built_in := _load_built_in(spec)) is not None:
        return built_in
    path = Path(spec)
    if path.is_file():
        return (_read(path, path.stem, None),)
    if path.is_dir():
        return _load_folder(path, path.resolve().name)
    raise UsageError(
        f"no suite, file or folder is called {spec!r}; built-in suites: {', '.join(suite_names())}"
    )


def _converted(file: TaskFile, dtype: str) -> TaskFile:
    source = f"{file.source}\nDTYPE = {dtype!r}\n"
    return replace(file, id=f"{file.id}@{dtype}", source=source)


def _load_built_in(spec: str) -> tuple[TaskFile, ...] | None:
    suite, _, name = spec.partition("/")
    if suite not in suite_names():
        return None
    tasks = _load_folder(_BUILT_IN / suite, suite)
    if not name:
        return tasks
    found = tuple(task for task in tasks if task.id == spec)
    if not found:
        names = ", ".join(task.id.partition("/")[2] for task in tasks)
        raise UsageError(f"suite {suite!r} has no task {name!r}; it has {names}")
    return found


def _load_checkout(scheme: str, path: Path) -> tuple[TaskFile, ...]:
    inner = _SCHEMES[scheme]
    for folder in (path / inner, path.parent / inner / path.name, path):
        if folder.is_dir():
            return _load_folder(folder, path.name)
    raise UsageError(f"{scheme}: there is no folder {path}: name a checkout, or a folder in it")


def _load_folder(folder: Path, suite: str) -> tuple[TaskFile, ...]:
    tasks = tuple(
        _read(path, f"{suite}/{path.stem}", family_of_folder(path.parent.name))
        for path in _task_paths(folder)
    )
    if not tasks:
        raise UsageError(f"{folder} holds no task: no Python file in it defines Model")
    return tasks


def _task_paths(folder: Path) -> Iterator[Path]:
    def by_number(path: Path) -> tuple[str, str]:
        return str(path.parent), re.sub(r"\d+", lambda number: number[0].zfill(8), path.stem)

    for path in sorted(folder.rglob("*.py"), key=by_number):
        if path.is_file() and re.search(r"^class Model\b", _text(path), re.MULTILINE):
            yield path


def _read(path: Path, identity: str, family: str | None) -> TaskFile:
    source = _text(path)
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"{path} is not a Python file: {error}") from error
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    missing = [name for name in ("Model", "get_inputs", "get_init_inputs") if name not in defined]
    if missing:
        raise TaskError(
            f"{path} is not a task: it does not define {' or '.join(missing)} "
            "(KernelBench's format: class Model, get_inputs(), get_init_inputs())"
        )
    return TaskFile(clean_line(identity), str(path), source, family)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise TaskError(f"{path} is larger than a task file can be (1 MiB)")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not a text file: {error}") from error
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}") from error
