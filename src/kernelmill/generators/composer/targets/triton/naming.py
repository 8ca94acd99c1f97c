"""Names for sizes that forward would spell out again and again."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from kernelmill.generators.composer.targets.triton.templates import is_size
from kernelmill.syntax import parse_expression

_LEAST_TIMES, _LEAST_LENGTH = 6, 12
"""How often a size is spelled out, and with how many characters, before it gets a name."""
_LEAST_SAVED = 2000
"""Characters that all names together have to save."""


class SizeNames:
    """The sizes in expressions of the host that get a name."""

    def __init__(self, texts: Sequence[str], symbols: Collection[str]) -> None:
        """`texts` are all expressions there are, as often as they are written."""
        self._symbols = symbols
        self._names = self._chosen(Counter(text for text in texts if not text.isidentifier()))
        self.written = cache(self._written)

    def lines(self) -> list[str]:
        """What the names are, each in terms of those before it."""
        return [
            f"{name} = {self._renamed(parse_expression(size), inside=True)}"
            for size, name in sorted(self._names.items(), key=lambda item: len(item[0]))
        ]

    def _written(self, text: str) -> str:
        """An expression with the names in place."""
        if not self._names or text.isidentifier():
            return text
        return self._renamed(parse_expression(text))

    def _renamed(self, tree: ast.expr, inside: bool = False) -> str:
        renaming = _Renaming(self._names)
        return ast.unparse(renaming.generic_visit(tree) if inside else renaming.visit(tree))

    def _chosen(self, texts: Counter[str]) -> dict[str, str]:
        """The longest first: what is inside of one is written once for it."""
        counts: Counter[str] = Counter()
        for text, times in texts.items():
            for size in self._sizes(parse_expression(text)):
                counts[size] += times
        names: dict[str, str] = {}
        saved = 0
        for size in sorted(counts, key=lambda one: (-len(one), one)):
            times = counts[size]
            if len(size) < _LEAST_LENGTH or times < _LEAST_TIMES:
                continue
            names[size] = f"n{len(names)}"
            saved += (times - 1) * len(size)
            for inner in self._sizes(parse_expression(size)):
                counts[inner] -= times - 1
        return names if saved >= _LEAST_SAVED else {}

    def _sizes(self, tree: ast.expr) -> Iterator[str]:
        """Everything in it that is computed from sizes alone."""
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and _has_names(node) and is_size(node, self._symbols):
                yield ast.unparse(node)


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        name = self._names.get(ast.unparse(node))
        return ast.Name(name) if name else self.generic_visit(node)


def _has_names(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(node))
