"""Loader of task files from a built-in suite, a file, a folder or a KernelBench checkout.

Nothing is executed here; a task file is as untrusted as a candidate.
"""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kernelmill.records.errors import TaskError, UsageError
from kernelmill.records.tensors import HALF_TYPES
from kernelmill.records.text import clean_line
from kernelmill.syntax import parse_python
from kernelmill.tasks.adapting import adapted
from kernelmill.tasks.families import FAMILIES, family_of_folder

_BUILT_IN = Path(__file__).with_name("suites")
_LARGEST = 1 << 20
_SCHEMES = {
    # Folder of the tasks within a checkout, by scheme.
    "kernelbench": "KernelBench",
    "multikernelbench": "reference",
}
_PART_OF_A_TASK = r"^(class Model\b|def (get_inputs|get_input_groups|get_init_inputs)\b)"
_FOREIGN_HARDWARE = frozenset({"torch_npu", "torch_mlu", "torch_musa"})
"""Extensions of the framework that a reference cannot be judged without."""


class TaskFile(msgspec.Struct, frozen=True):
    """A task file that was read, not run."""

    id: str
    path: str
    source: str
    family: str | None
    """The family that it declares, or that its folder is named for; None where neither is."""


class SkippedFile(NamedTuple):
    """A Python file of a folder that is no task."""

    name: str
    reason: str
    is_broken: bool
    """Whether it is meant to be a task: it defines a part of one."""


class Suite(NamedTuple):
    """The tasks that a name stands for, and the files beside them that are none."""

    tasks: tuple[TaskFile, ...]
    skipped: tuple[SkippedFile, ...] = ()


def suite_names() -> tuple[str, ...]:
    return tuple(sorted(p.name for p in _BUILT_IN.iterdir() if any(p.rglob("*.py"))))


def load_suite(spec: str) -> tuple[TaskFile, ...]:
    """The tasks that `starter`, `starter/gelu`, a path or `kernelbench:PATH/level1` names.

    Files of a folder that are no tasks are left out. Raises UsageError where none is left, and
    TaskError where a single file is no task.
    """
    suite = find_suite(spec)
    if not suite.tasks:
        first = f"; the first file: {suite.skipped[0].reason}" if suite.skipped else ""
        raise UsageError(f"{spec} holds no task{first}")
    return suite.tasks


def find_suite(spec: str) -> Suite:
    """The same, with the files that were left out; there may be no task.

    With a type behind it (`starter@bfloat16`), models and inputs are converted to that.
    """
    name, _, dtype = spec.rpartition("@")
    if name and dtype in HALF_TYPES:
        suite = find_suite(name)
        return suite._replace(tasks=tuple(_converted(file, dtype) for file in suite.tasks))
    scheme, _, rest = spec.partition(":")
    if rest and scheme in _SCHEMES:
        return _load_checkout(scheme, Path(rest))
    if (built_in := _load_built_in(spec)) is not None:
        return built_in
    path = Path(spec)
    if path.is_file():
        return Suite((_read(path, path.stem, None),))
    if path.is_dir():
        return _load_folder(path, path.resolve().name)
    raise UsageError(
        f"no suite, file or folder is called {spec!r}; built-in suites: {', '.join(suite_names())}"
    )


def _converted(file: TaskFile, dtype: str) -> TaskFile:
    source = f"{file.source}\nDTYPE = {dtype!r}\n"
    return replace(file, id=f"{file.id}@{dtype}", source=source)


def _load_built_in(spec: str) -> Suite | None:
    suite, _, name = spec.partition("/")
    if suite not in suite_names():
        return None
    tasks = _load_folder(_BUILT_IN / suite, suite).tasks
    if not name:
        return Suite(tasks)
    found = tuple(task for task in tasks if task.id == spec)
    if not found:
        names = ", ".join(task.id.partition("/")[2] for task in tasks)
        raise UsageError(f"suite {suite!r} has no task {name!r}; it has {names}")
    return Suite(found)


def _load_checkout(scheme: str, path: Path) -> Suite:
    inner = _SCHEMES[scheme]
    for folder in (path / inner, path.parent / inner / path.name, path):
        if folder.is_dir():
            return _load_folder(folder, path.name)
    raise UsageError(f"{scheme}: there is no folder {path}: name a checkout, or a folder in it")


def _load_folder(folder: Path, suite: str) -> Suite:
    tasks, skipped = [], []
    paths = _python_files(folder)
    stems = Counter(path.stem for path in paths)
    for path in paths:
        # Files of the same name in several folders are told apart by their folders.
        inner = path.relative_to(folder).with_suffix("") if stems[path.stem] > 1 else path.stem
        name, is_broken = f"{suite}/{inner}", True
        try:
            is_broken = re.search(_PART_OF_A_TASK, _text(path), re.MULTILINE) is not None
            if not is_broken:
                raise TaskError(f"{path} defines neither Model nor get_inputs")
            tasks.append(_read(path, name, family_of_folder(path.parent.name)))
        except TaskError as error:
            skipped.append(SkippedFile(clean_line(name), str(error), is_broken))
    if not tasks and not skipped:
        raise UsageError(f"{folder} holds no task: there is no Python file in it")
    return Suite(tuple(tasks), tuple(skipped))


def _python_files(folder: Path) -> list[Path]:
    def by_number(path: Path) -> tuple[str, str]:
        return str(path.parent), re.sub(r"\d+", lambda number: number[0].zfill(8), path.stem)

    return sorted((path for path in folder.rglob("*.py") if path.is_file()), key=by_number)


def _read(path: Path, identity: str, family: str | None) -> TaskFile:
    source = _text(path)
    try:
        tree = parse_python(source)
    except SyntaxError as error:
        raise TaskError(
            f"{path} is not a Python file: {error.msg} in line {error.lineno}"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise TaskError(f"{path} is not a Python file: {error}") from error
    for module in sorted(_imported(tree) & _FOREIGN_HARDWARE):
        raise TaskError(f"{path} needs {module}, which runs on its own hardware only")
    source = adapted(path, source, tree)
    return TaskFile(clean_line(identity), str(path), source, _declared_family(path, tree) or family)


def _imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _declared_family(path: Path, tree: ast.Module) -> str | None:
    """What the file assigns to FAMILY. Raises TaskError where there is no such family."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        if any(isinstance(target, ast.Name) and target.id == "FAMILY" for target in node.targets):
            family = node.value.value
            if family not in FAMILIES:
                raise TaskError(
                    f"{path} declares the family {family!r}; there are {', '.join(FAMILIES)}"
                )
            return str(family)
    return None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise TaskError(f"{path} is larger than a task file can be (1 MiB)")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not a text file: {error}") from error
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}") from error
