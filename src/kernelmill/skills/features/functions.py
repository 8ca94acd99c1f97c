"""The functions of a source, whatever its language: who calls whom, and the loops in each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Loop(NamedTuple):
    depth: int
    """1 for a loop that is in no other."""
    innermost: bool
    calls: frozenset[str]
    """Names it mentions outside of loops of its own."""


class LoopStack:
    """Notes loops while somebody walks over a function."""

    def __init__(self) -> None:
        self.found: list[Loop] = []
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
        self.found.append(Loop(depth, not has_inner, frozenset(calls)))

    def mention(self, name: str) -> None:
        if self._calls:
            self._calls[-1].add(name)


class Function(NamedTuple):
    name: str
    entry: bool
    """Whether it is entered from outside."""
    loops: tuple[Loop, ...]
    calls: frozenset[str]
    """Every name it mentions."""
    counts: Counter[str]
    """What else was counted in it, by the names of metrics."""


class Source(NamedTuple):
    """All functions by name; several of one name are overloads or instances."""

    functions: Mapping[str, Sequence[Function]]

    @property
    def entries(self) -> list[str]:
        entered = [name for name, same in self.functions.items() if any(one.entry for one in same)]
        return entered or list(self.functions)

    def reached(self, entry: str) -> list[Function]:
        """The function and all it calls, each once."""
        found: dict[str, None] = {}
        ahead = [entry]
        while ahead:
            name = ahead.pop()
            if name in self.functions and name not in found:
                found[name] = None
                ahead += sorted({call for one in self.functions[name] for call in one.calls})
        return [one for name in found for one in self.functions[name]]

    def depth(self, entry: str, above: frozenset[str] = frozenset()) -> int:
        """Loops inside of each other, through calls."""
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
        """The one a profile names, else the entry with the deepest and the most loops."""
        if named and named in self.functions:
            return named
        return max(self.entries, key=self._weight, default="")

    def _weight(self, name: str) -> tuple[int, int]:
        return self.depth(name), sum(len(one.loops) for one in self.reached(name))


def loop_metrics(source: Source, entry: str) -> dict[str, float]:
    reached = source.reached(entry)
    loops = [loop for function in reached for loop in function.loops]
    looping = {function.name for function in reached if function.loops}
    return {
        "kernels": len(source.entries),
        "loops": len(loops),
        "loop_depth": source.depth(entry),
        "passes": sum(loop.innermost and not loop.calls & looping for loop in loops),
    }


def joined(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def by_name(functions: Iterable[Function]) -> Source:
    found: dict[str, list[Function]] = {}
    for function in functions:
        found.setdefault(function.name, []).append(function)
    return Source(found)
