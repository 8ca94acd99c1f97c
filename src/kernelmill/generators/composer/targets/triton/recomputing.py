"""Values that several kernels compute: a long one is stored when the second kernel asks for it.

Without that the kernels of a residual network, or of a recurrent one, would each compute all of
the blocks or steps before their own.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kernelmill.generators.composer.ir.values import Contract, Map, Unfit, Value

_LONG = 8
"""Functions of elements that a value is made by; fewer are computed again."""


class Recomputing:
    def __init__(self, shared: Collection[int], stored: Mapping[int, Any]) -> None:
        """`shared` are the ids of values that several others need."""
        self._shared, self._stored = shared, stored
        self._computed: set[int] = set()

    def demand_stored(self, value: Value) -> None:
        """Raise Unfit for what another kernel has computed before."""
        for one in self._inside(value):
            if one is not value and id(one) in self._computed and self._is_long(one):
                raise Unfit(one)

    def note(self, value: Value) -> None:
        """A kernel computes a value."""
        inside = (id(one) for one in self._inside(value) if isinstance(one, Map))
        self._computed.update(number for number in inside if number in self._shared)

    def _is_long(self, value: Value) -> bool:
        return sum(isinstance(one, Map) for one in self._inside(value)) >= _LONG

    def _inside(self, value: Value) -> Iterator[Value]:
        """What is computed in the kernel of a value, itself among it."""
        waiting, seen = [value], set()
        while waiting:
            one = waiting.pop()
            if id(one) in seen or id(one) in self._stored:
                continue
            seen.add(id(one))
            yield one
            if not isinstance(one, Contract):
                waiting += one.inputs
