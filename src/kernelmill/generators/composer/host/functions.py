"""Functions in Python that candidates carry with them: those that their kernels call."""

import ast
from collections.abc import Collection, Iterable
from functools import cached_property
from importlib.resources import files

from kernelmill.syntax import names_in, parse_python


class RuntimeFunctions:
    """The functions of a target, which lie in `runtime/functions.py` of its package."""

    def __init__(self, package: str, decorator: str = "") -> None:
        self._package, self._decorator = package, decorator

    @property
    def names(self) -> Collection[str]:
        return self._sources.keys()

    def needed(self, names: Iterable[str]) -> list[str]:
        """The source of those among the names, and of those that they call."""
        found: set[str] = set()
        waiting = set(names) & self._sources.keys()
        while waiting:
            found |= waiting
            waiting = set().union(*(self._calls[name] for name in waiting)) - found
        return [source for name, source in self._sources.items() if name in found]

    @cached_property
    def _sources(self) -> dict[str, str]:
        text = (files(self._package) / "runtime" / "functions.py").read_text()
        return {
            item.name: f"{self._decorator}{ast.get_source_segment(text, item)}"
            for item in parse_python(text).body
            if isinstance(item, ast.FunctionDef)
        }

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        return {name: names_in(text) & self._sources.keys() for name, text in self._sources.items()}
