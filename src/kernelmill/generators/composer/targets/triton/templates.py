"""The body of a kernel as text with holes: where memory, numbers and sizes stand in it.

Kernels whose templates agree are the same but for what is in the holes.
"""

import ast
from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import NamedTuple

from kernelmill.syntax import parse_python

_TAKE_ANY_SIZE = frozenset("load store where cdiv minimum maximum range".split())
"""Functions whose arguments may be known at run time only."""
_OF_SIZES = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


class Kind(Enum):
    MEMORY = auto()
    NUMBER = auto()
    """A real number that the host computes."""
    SIZE = auto()
    """An integer, or an expression of sizes."""
    CONDITION = auto()
    """On sizes and tiles."""


class Hole(NamedTuple):
    kind: Kind
    text: str
    names: frozenset[str]
    """Those in it."""
    at_run_time: bool
    """Whether what stands here may be known at run time only."""


class HostNames(NamedTuple):
    """Names in a kernel that are arguments of its launch."""

    memory: Collection[str]
    numbers: Collection[str]
    symbols: Collection[str]


class Template(NamedTuple):
    pieces: tuple[str, ...]
    """The text around the holes: one more than there are holes."""
    holes: tuple[Hole, ...]
    names: frozenset[str]
    """All that the kernel reads or writes."""

    def filled(self, texts: Sequence[str]) -> list[str]:
        """Lines of the body, with these texts in its holes."""
        first, *rest = self.pieces
        parts = [part for pair in zip(texts, rest, strict=True) for part in pair]
        return "".join([first, *parts]).split("\n")


def read_template(lines: Sequence[str], names: HostNames, tiles: Collection[str] = ()) -> Template:
    """With names of `tiles`, conditions on sizes and those are holes as a whole."""
    text = "\n".join(lines)
    reader = _Reader(text, names, tiles)
    for statement in parse_python(text).body:
        reader.visit(statement, at_run_time=True)
    return reader.template()


def is_size(node: ast.AST, symbols: Collection[str]) -> bool:
    """Whether an expression is of integers and sizes alone."""
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.Name(id=name):
            return name in symbols
        case ast.BinOp(left=left, op=sign, right=right) if isinstance(sign, _OF_SIZES):
            return is_size(right, symbols) and is_size(left, symbols)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_size(operand, symbols)
    return False


class _Place(NamedTuple):
    start: int
    end: int
    hole: Hole


class _Reader:
    def __init__(self, text: str, names: HostNames, tiles: Collection[str]) -> None:
        self._text, self._names, self._tiles = text, names, tiles
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._places: list[_Place] = []
        self._found: set[str] = set()

    def template(self) -> Template:
        pieces, end = [], 0
        places = sorted(self._places, key=lambda place: place.start)
        for place in places:
            pieces.append(self._text[end : place.start])
            end = place.end
        pieces.append(self._text[end:])
        holes = tuple(place.hole for place in places)
        return Template(tuple(pieces), holes, frozenset(self._found))

    def visit(self, node: ast.AST, at_run_time: bool) -> None:
        kind = self._kind(node)
        if isinstance(node, ast.expr) and kind is not None:
            self._add(node, kind, at_run_time)
            return
        if isinstance(node, ast.Name):
            self._found.add(node.id)
        for name, child in ast.iter_fields(node):
            inner = at_run_time and self._takes_any(node, name)
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    self.visit(part, inner)

    def _add(self, node: ast.expr, kind: Kind, at_run_time: bool) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        names = frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
        self._found |= names
        hole = Hole(kind, self._text[start:end], names, at_run_time)
        self._places.append(_Place(start, end, hole))

    def _kind(self, node: ast.AST) -> Kind | None:
        if isinstance(node, ast.Name) and node.id in self._names.memory:
            return Kind.MEMORY
        if isinstance(node, ast.Name) and node.id in self._names.numbers:
            return Kind.NUMBER
        if is_size(node, self._names.symbols):
            return Kind.SIZE
        return Kind.CONDITION if self._is_condition(node) else None

    def _is_condition(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=ast.BinOp(left=left, op=ast.Mod(), right=right)) if self._tiles:
                known = (*self._names.symbols, *self._tiles)
                return is_size(left, self._names.symbols) and is_size(right, known)
        return False

    def _takes_any(self, node: ast.AST, field: str) -> bool:
        """Whether what stands in this field may be known at run time only."""
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                return field == "args" and name in _TAKE_ANY_SIZE
            case ast.If():
                return field != "test"
            case ast.List() | ast.Tuple() | ast.Subscript() | ast.keyword():
                return False
        return True
