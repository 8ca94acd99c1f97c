"""Adapters for task files that are not quite in KernelBench's format: functions, JSON cases.

An adapter is source text that is appended to the file; nothing is executed here.
"""

import ast
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill.records.errors import TaskError

_NAMES = ("reference", "forward", "model")
"""What a function is called that is the reference, where there are several functions."""
_GROUPS = "get_input_groups"
_MOST_ELEMENTS = 1 << 24
_MOST_HIDDEN = 2
_MOST_CASES_BYTES = 8 << 20


def adapted(path: Path, source: str, tree: ast.Module) -> str:
    """The source with what it lacks of KernelBench's format, where that can be added.

    Raises TaskError, with the way out, where it cannot.
    """
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    added = ""
    if "get_inputs" not in defined and _GROUPS in defined:
        added += _json_cases(path)
        defined["get_inputs"] = defined[_GROUPS]
    if "Model" not in defined and "get_inputs" in defined:
        function = _reference_function(path, list(defined.values()))
        parameters = _parameters(path, function)
        added += _rendered("function", function=function.name, **parameters._asdict())
        defined["Model"] = function
    if "get_init_inputs" not in defined and "Model" in defined:
        added += _rendered("no_init_inputs")
    missing = [name for name in ("Model", "get_inputs") if name not in defined]
    if missing:
        raise TaskError(
            f"{path} is not a task: it does not define {' or '.join(missing)} "
            "(KernelBench's format: class Model, get_inputs(), get_init_inputs(); "
            "or a function in place of Model)"
        )
    return source + added


def _reference_function(
    path: Path, nodes: Sequence[ast.ClassDef | ast.FunctionDef]
) -> ast.FunctionDef:
    functions = {
        node.name: node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.name not in ("get_inputs", "get_init_inputs", _GROUPS)
        and not node.name.startswith("_")
    }
    named = [functions[name] for name in _NAMES if name in functions]
    if len(functions) == 1 or named:
        return named[0] if named else next(iter(functions.values()))
    if not functions:
        raise TaskError(
            f"{path} is not a task: it does not define Model, or a function in its place"
        )
    raise TaskError(
        f"{path} does not define Model, and {len(functions)} functions may be meant "
        f"({', '.join(functions)}): call the one that is to be made fast `{_NAMES[0]}`"
    )


class _Parameters(NamedTuple):
    """How `forward` declares its parameters, with their defaults, and passes them on."""

    declared: str
    passed: str


def _parameters(path: Path, function: ast.FunctionDef) -> _Parameters:
    given = function.args
    by_name = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    if needed := [argument.arg for argument, default in by_name if default is None]:
        raise TaskError(
            f"{path}: {function.name} takes {', '.join(needed)} by name only: give it a default, "
            "or take it by position"
        )
    if given.vararg:
        return _Parameters("*inputs", "*inputs")
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    declared = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[],
        defaults=given.defaults,
    )  # fmt: skip
    return _Parameters(ast.unparse(declared), ", ".join(names))


class _Case(NamedTuple):
    """One line of the JSON file beside a task of NPUKernelBench."""

    line: str
    kind: tuple[object, ...]
    """Types, ranks and attributes: cases of one kind have the same code path."""
    elements: int
    is_float32: bool


def _json_cases(path: Path) -> str:
    cases = list(_read_cases(path.with_suffix(".json")))
    fitting = [case for case in cases if case.elements <= _MOST_ELEMENTS]
    if not fitting:
        raise TaskError(f"{path.with_suffix('.json')} has no case of a size that can be judged")
    shown = max(fitting, key=lambda case: (case.is_float32, case.elements))
    hidden = sorted(
        (case for case in fitting if case.kind == shown.kind and case.line != shown.line),
        key=lambda case: case.elements,
    )[:_MOST_HIDDEN]
    return _rendered(
        "json_cases",
        name=repr(path.name),
        hidden=repr([{"CASE": number} for number in range(1, len(hidden) + 1)]),
        cases=repr([case.line for case in (shown, *hidden)]),
    )


def _read_cases(path: Path) -> Iterator[_Case]:
    try:
        if path.stat().st_size > _MOST_CASES_BYTES:
            raise TaskError(f"{path} is larger than a file of cases can be (8 MiB)")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"the cases of this task cannot be read from {path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _case(line, msgspec.json.decode(line)["inputs"])
        except (msgspec.DecodeError, TypeError, KeyError, ValueError) as error:
            raise TaskError(f"{path}, line {number}, is not a case: {error!r}") from error


def _case(line: str, inputs: list[dict[str, Any]]) -> _Case:
    shapes = [tuple(one["shape"]) for one in inputs if isinstance(one.get("shape"), list)]
    kind = tuple(
        (one.get("dtype"), len(one["shape"]))
        if isinstance(one.get("shape"), list)
        else (one.get("dtype"), repr(one.get("value")))
        for one in inputs
    )
    elements = sum(math.prod(map(int, shape)) for shape in shapes)
    floats = {one.get("dtype") for one in inputs if isinstance(one.get("shape"), list)}
    return _Case(line, kind, elements, bool(floats & {"float32", "fp32"}))


def _rendered(name: str, /, **values: str) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("adapters")),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{name}.py.j2").render(**values)
