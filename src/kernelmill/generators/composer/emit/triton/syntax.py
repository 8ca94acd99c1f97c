"""The lowering's expressions, read: C++ becomes a tree to write other languages from."""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>\d+\.?\d*(?:e[+-]?\d+)?f?|\.\d+(?:e[+-]?\d+)?f?)"
    r"|(?P<name>[A-Za-z_]\w*(?:::\w+|<\w+>(?=\(|::))*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%<>!~&|^?:()\[\],])"
    r")"
)
_BINDING = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


class Number(NamedTuple):
    text: str


class Name(NamedTuple):
    text: str


class Unary(NamedTuple):
    sign: str
    operand: "Tree"


class Binary(NamedTuple):
    sign: str
    left: "Tree"
    right: "Tree"


class Choice(NamedTuple):
    condition: "Tree"
    chosen: "Tree"
    otherwise: "Tree"


class Call(NamedTuple):
    function: str
    arguments: tuple["Tree", ...]


class Element(NamedTuple):
    """`name[place]`"""

    memory: str
    place: "Tree"


Tree = Number | Name | Unary | Binary | Choice | Call | Element


class _Token(NamedTuple):
    kind: str
    text: str


def read(code: str) -> Tree:
    reader = _Reader(code)
    tree = reader.expression()
    reader.demand("")
    return tree


def _tokens(code: str) -> list[_Token]:
    found, position = [], 0
    code = code.rstrip()
    while position < len(code):
        match = _TOKEN.match(code, position)
        if match is None or match.lastgroup is None:
            raise ValueError(f"not an expression: {code!r} at {position}")
        found.append(_Token(match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return [*found, _Token("end", "")]


class _Reader:
    def __init__(self, code: str) -> None:
        self._tokens = _tokens(code)
        self._at = 0

    def expression(self) -> Tree:
        condition = self._binary(0)
        if self._here != "?":
            return condition
        self.demand("?")
        chosen = self.expression()
        self.demand(":")
        return Choice(condition, chosen, self.expression())

    def demand(self, text: str) -> None:
        if self._here != text:
            raise ValueError(f"expected {text!r}, found {self._here!r}")
        self._at += 1

    @property
    def _here(self) -> str:
        return self._tokens[self._at].text

    def _binary(self, least: int) -> Tree:
        left = self._unary()
        while _BINDING.get(self._here, 0) > least:
            sign = self._here
            self._at += 1
            left = Binary(sign, left, self._binary(_BINDING[sign]))
        return left

    def _unary(self) -> Tree:
        if self._here in ("-", "+", "!", "~"):
            sign = self._here
            self._at += 1
            operand = self._unary()
            return operand if sign == "+" else Unary(sign, operand)
        return self._primary()

    def _primary(self) -> Tree:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return Number(text)
        if text == "(":
            inner = self.expression()
            self.demand(")")
            return inner
        if kind != "name":
            raise ValueError(f"unexpected {text!r}")
        if self._here == "(":
            return Call(text, self._arguments())
        if self._here == "[":
            self.demand("[")
            place = self.expression()
            self.demand("]")
            return Element(text, place)
        return Name(text)

    def _arguments(self) -> tuple[Tree, ...]:
        self.demand("(")
        given: list[Tree] = []
        while self._here != ")":
            given.append(self.expression())
            if self._here == ",":
                self.demand(",")
        self.demand(")")
        return tuple(given)
