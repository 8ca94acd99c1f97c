"""The artefact of an Ascend C operator: one text of six sections, read and never executed."""

import ast
import re
from typing import NamedTuple

import msgspec

from kernelmill.syntax import parse

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


class Operator(msgspec.Struct, frozen=True):
    """The prototype that msopgen makes a project of."""

    op: str
    input_desc: tuple[Port, ...]
    output_desc: tuple[Port, ...]
    language: str = "cpp"

    @property
    def entry(self) -> str:
        """The name of its kernel and files: what msopgen makes of the operator's name."""
        return "_".join(word.lower() for word in _WORD.findall(self.op))


class Artefact(NamedTuple):
    operator: Operator
    prototype: str
    tiling: str
    host: str
    kernel: str
    binding: str
    model: str


def read_artefact(source: str) -> Artefact:
    """Raises ArtefactError."""
    texts = _sections(source)
    return Artefact(_operator(texts["project_json_src"]), *texts.values())


def _sections(source: str) -> dict[str, str]:
    """The six strings, in order. Anything beside them is refused: nothing would ever run it."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ArtefactError(f"the artefact is not valid Python: {error}") from error
    found: dict[str, str] = {}
    for statement in tree.body:
        name, text = _assigned_text(statement)
        if name in found:
            raise ArtefactError(f"line {statement.lineno}: {name} is given twice")
        found[name] = text
    missing = [f"{name} ({what})" for name, what in SECTIONS.items() if name not in found]
    if missing:
        raise ArtefactError(f"it lacks {', '.join(missing)}")
    return {name: found[name] for name in SECTIONS}


def _assigned_text(statement: ast.stmt) -> tuple[str, str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))) if (
            name in SECTIONS
        ):
            return name, text
    raise ArtefactError(
        f"line {statement.lineno}: an artefact is six strings and no more: {', '.join(SECTIONS)}"
    )


def _operator(text: str) -> Operator:
    try:
        operators = msgspec.json.decode(text, type=tuple[Operator, ...])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ArtefactError(f"project_json_src is not a prototype: {error}") from error
    if len(operators) != 1:
        raise ArtefactError(f"project_json_src describes {len(operators)} operators, not one")
    (operator,) = operators
    if not _OPERATOR_NAME.fullmatch(operator.op):
        raise ArtefactError(f"{operator.op!r} is no name of an operator: use words like GeluCustom")
    if not operator.input_desc or not operator.output_desc:
        raise ArtefactError(f"{operator.op} needs inputs and outputs")
    return operator
