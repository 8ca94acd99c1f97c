"""Call graph and loops of a source, independent of its language."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class SourceLoop(NamedTuple):
    depth: int
    """Nesting depth; 1 for an outermost loop."""
    innermost: bool
    calls: frozenset[str]
    """Names in its body, without those in inner loops."""


class LoopStack:
    """Records the loops of a function while its statements are traversed."""

    def __init__(self) -> None:
        self.found: list[SourceLoop] = []
        self._calls: list[set[str]] = []
        self._has_inner: list[bool] = []

    def begin(self) -> None:
        if self._has_inner:
            self._has_inner[-1] = True
        self._calls.append(set())
        self._has_inner.append(False)

    def end(self) -> None:
        depth = len(self._calls)
        calls, has_inner = self._calls.pop(), self._has_inner.pop()
        self.found.append(SourceLoop(depth, not has_inner, frozenset(calls)))

    def mention(self, name: str) -> None:
        if self._calls:
            self._calls[-1].add(name)


class Function(NamedTuple):
    name: str
    entry: bool
    """Whether it is a kernel's entry point."""
    loops: tuple[SourceLoop, ...]
    calls: frozenset[str]
    """All names in its body."""
    counts: Counter[str]
    """Counts of constructs, by the names of metrics."""


class CallGraph(NamedTuple):
    """All functions by name; several of one name are overloads or specialisations."""

    functions: Mapping[str, Sequence[Function]]

    @property
    def entries(self) -> list[str]:
        """Names of the entry points; of all functions where none is marked as one."""
        found = [name for name, same in self.functions.items() if any(one.entry for one in same)]
        return found or list(self.functions)

    def reached(self, entry: str) -> list[Function]:
        """The function and all functions that it calls, directly or not."""
        found: dict[str, None] = {}
        pending = [entry]
        while pending:
            name = pending.pop()
            if name in self.functions and name not in found:
                found[name] = None
                pending += sorted({call for one in self.functions[name] for call in one.calls})
        return [one for name in found for one in self.functions[name]]

    def depth(self, entry: str, above: frozenset[str] = frozenset()) -> int:
        """Depth of the deepest loop nest, through calls."""
        if entry not in self.functions or entry in above:
            return 0
        within = above | {entry}
        deepest = 0
        for function in self.functions[entry]:
            inside = {name for loop in function.loops for name in loop.calls}
            depths = [self.depth(name, within) for name in function.calls - inside]
            depths += [
                loop.depth + max((self.depth(name, within) for name in loop.calls), default=0)
                for loop in function.loops
            ]
            deepest = max(deepest, *depths, 0)
        return deepest

    def hottest(self, named: str = "") -> str:
        """The function that a profile names, else the entry with the deepest and most loops."""
        if named and named in self.functions:
            return named
        return max(self.entries, key=self._weight, default="")

    def _weight(self, name: str) -> tuple[int, int]:
        return self.depth(name), sum(len(one.loops) for one in self.reached(name))


def loop_metrics(graph: CallGraph, entry: str) -> dict[str, float]:
    reached = graph.reached(entry)
    loops = [loop for function in reached for loop in function.loops]
    looping = {function.name for function in reached if function.loops}
    return {
        "kernels": len(graph.entries),
        "loops": len(loops),
        "loop_depth": graph.depth(entry),
        "passes": sum(loop.innermost and not loop.calls & looping for loop in loops),
    }


def total_counts(functions: Iterable[Function]) -> Counter[str]:
    total: Counter[str] = Counter()
    for function in functions:
        total.update(function.counts)
    return total


def call_graph(functions: Iterable[Function]) -> CallGraph:
    found: dict[str, list[Function]] = {}
    for function in functions:
        found.setdefault(function.name, []).append(function)
    return CallGraph(found)
