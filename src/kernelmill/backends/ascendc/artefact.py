"""The artefact of an Ascend C operator: one text of six sections, read and never executed."""

import ast
import re
from typing import NamedTuple

import msgspec

from kernelmill.syntax import parse_python

SECTIONS = {
    "project_json_src": "the operator's prototype, for msopgen",
    "host_tiling_src": "the tiling data that host and kernel share",
    "host_operator_src": "tiling function, shape inference and registration",
    "kernel_src": "the kernel",
    "python_bind_src": "the binding, which allocates and calls the operator",
    "model_src": "ModelNew",
}
_OPERATOR_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[0-9]+")


class ArtefactError(Exception):
    """The text is not an artefact. The message is for the generator."""


class Port(msgspec.Struct, frozen=True):
    """An input or output of an operator."""

    name: str
    param_type: str
    format: tuple[str, ...]
    type: tuple[str, ...]


class OperatorPrototype(msgspec.Struct, frozen=True):
    """The description from which msopgen generates a project."""

    op: str
    input_desc: tuple[Port, ...]
    output_desc: tuple[Port, ...]
    language: str = "cpp"

    @property
    def entry(self) -> str:
        """The name of its kernel and files, which msopgen derives from the operator's name."""
        return "_".join(word.lower() for word in _WORD.findall(self.op))


class Artefact(NamedTuple):
    """The parsed prototype, then the texts of the six sections in the order of `SECTIONS`."""

    operator: OperatorPrototype
    prototype: str
    tiling: str
    host: str
    kernel: str
    binding: str
    model: str


class _Section(NamedTuple):
    name: str
    text: str


def read_artefact(source: str) -> Artefact:
    """Raises ArtefactError."""
    texts = _sections(source)
    return Artefact(_operator(texts["project_json_src"]), *texts.values())


def _sections(source: str) -> dict[str, str]:
    """The six strings, in order. Any other statement is refused, because nothing would run it."""
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ArtefactError(f"the artefact is not valid Python: {error}") from error
    found: dict[str, str] = {}
    for statement in tree.body:
        name, text = _section(statement)
        if name in found:
            raise ArtefactError(f"line {statement.lineno}: {name} is assigned twice")
        found[name] = text
    missing = [f"{name} ({what})" for name, what in SECTIONS.items() if name not in found]
    if missing:
        raise ArtefactError(f"the artefact lacks {', '.join(missing)}")
    return {name: found[name] for name in SECTIONS}


def _section(statement: ast.stmt) -> _Section:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))) if (
            name in SECTIONS
        ):
            return _Section(name, text)
    raise ArtefactError(
        f"line {statement.lineno}: an artefact is six strings and no more: {', '.join(SECTIONS)}"
    )


def _operator(text: str) -> OperatorPrototype:
    try:
        operators = msgspec.json.decode(text, type=tuple[OperatorPrototype, ...])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ArtefactError(f"project_json_src is not a prototype: {error}") from error
    if len(operators) != 1:
        raise ArtefactError(f"project_json_src describes {len(operators)} operators, not one")
    (operator,) = operators
    if not _OPERATOR_NAME.fullmatch(operator.op):
        raise ArtefactError(f"{operator.op!r} is not an operator name: use one like GeluCustom")
    if not operator.input_desc or not operator.output_desc:
        raise ArtefactError(f"{operator.op} needs inputs and outputs")
    return operator
