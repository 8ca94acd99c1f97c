"""Affine maps of MLIR as expressions of C."""

import re
from collections.abc import Mapping

_TOKEN = re.compile(r"\s*(floordiv|ceildiv|mod|[ds]\d+|\d+|[-+*()])")
_CALLED = {"floordiv": "floor_quotient", "ceildiv": "ceiling", "mod": "modulus"}


class AffineExpression:
    """A parser of one result of a map. Used once."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        """`names` maps dimensions and symbols to names in C. Raises ValueError."""
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s", "", text):
            raise ValueError(text)
        self._names = names
        self._next = 0

    def code(self) -> str:
        result = self._sum()
        if self._next < len(self._tokens):
            raise ValueError(f"unexpected {self._tokens[self._next]}")
        return result

    def _take(self, *wanted: str) -> str:
        if self._next < len(self._tokens) and self._tokens[self._next] in wanted:
            self._next += 1
            return str(self._tokens[self._next - 1])
        return ""

    def _sum(self) -> str:
        result = self._product()
        while sign := self._take("+", "-"):
            result = f"({result} {sign} {self._product()})"
        return result

    def _product(self) -> str:
        result = self._atom()
        while operator := self._take("*", *_CALLED):
            right = self._atom()
            called = _CALLED.get(operator)
            result = f"{called}({result}, {right})" if called else f"({result} * {right})"
        return result

    def _atom(self) -> str:
        if self._take("-"):
            return f"(-{self._atom()})"
        if self._take("("):
            inner = self._sum()
            if not self._take(")"):
                raise ValueError("a parenthesis is not closed")
            return inner
        if self._next == len(self._tokens):
            raise ValueError("an expression ends early")
        token = self._tokens[self._next]
        self._next += 1
        if token.isdigit():
            return str(token)
        if token not in self._names:
            raise ValueError(f"unknown name {token}")
        return self._names[token]
