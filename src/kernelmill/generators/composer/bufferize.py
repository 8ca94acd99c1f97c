"""Bufferization: the values that get memory of their own, in the order of their kernels."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Extent, Graph
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    Literal,
    Map,
    Shape,
    Unfit,
    Value,
    View,
)
from kernelmill.generators.composer.lowering import Lowering
from kernelmill.generators.composer.plan import Plan


class Bufferizer(ABC):
    """Everything there is to make of one graph under one plan.

    A subclass writes kernels. What it says is unfit for the kernel at hand is stored before.
    """

    folds_places: ClassVar[bool] = False
    """Whether it folds the place of an extreme element along any axis."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.outputs: list[Buffer] = []
        self._plan = plan
        self._stored: dict[int, Any] = {}
        """What stands for a value, by its id: memory, or something that reads memory."""
        self._keep: list[Value] = []
        self._scratch: list[Buffer] = []
        lowering = Lowering(graph, plan, self.folds_places)
        values = lowering.run()
        self._results = values
        self._numbers = lowering.numbers
        self._users = _users(values)
        self._shared = {number for number, users in self._users.items() if len(users) > 1}
        for number, value in enumerate(values):
            target = Buffer(f"out_{number}", value.shape, value.dtype)
            self.outputs.append(target)
            self._store(value, target)

    @abstractmethod
    def _emit(self, value: Value, target: Buffer) -> None:
        """Write the kernel that fills `target`. Raises Unfit for what must be stored before."""

    def _store(self, value: Value, target: Buffer) -> None:
        """Write the kernel that fills `target`, after those that it needs."""
        if isinstance(value, View) and value.in_order and self._unstored(value.inputs[0]):
            source = value.inputs[0]
            self._store(source, target.reshaped(source.shape))
            return
        while True:
            try:
                self._emit(value, target)
                break
            except Unfit as unfit:
                needed = self._whole(unfit.value)
                if needed is value:
                    needed = unfit.value
                if needed is value:
                    raise Declined(f"a {type(value).__name__.lower()} of this form") from unfit
                self._store(needed, self._memory_for(needed))
        self._stand_in(value, target)

    def _memory_for(self, value: Value) -> Buffer:
        """Where a value is to be stored that others need."""
        return self._scratch_of(value.shape, value.dtype)

    def _scratch_of(self, shape: Sequence[Extent], dtype: str) -> Buffer:
        buffer = Buffer(f"stored_{len(self._scratch)}", shape, dtype)
        self._scratch.append(buffer)
        return buffer

    def _stand_in(self, value: Value, other: Value) -> None:
        """From now on `other` is read wherever `value` is needed."""
        self._keep.append(value)
        self._stored[id(value)] = other

    def _unstored(self, value: Value) -> bool:
        return id(value) not in self._stored and not isinstance(value, Buffer | Literal)

    def _contract_under(self, value: Value) -> Contract | None:
        """The one contraction whose sums `value` is a function of, element by element."""
        if isinstance(value, Contract):
            return value
        if not isinstance(value, Map):
            return None
        found: Contract | None = None
        for source in value.inputs:
            if id(source) in self._stored or source.shape != value.shape:
                continue
            inner = self._contract_under(source) if isinstance(source, Contract | Map) else None
            if inner is not None and found is not None and inner is not found:
                raise Unfit(inner)
            found = inner or found
        return found

    def _whole(self, value: Value) -> Value:
        """With a contraction, store what becomes of each of its sums, not the sums."""
        if not isinstance(value, Contract):
            return value
        while True:
            users = self._users.get(id(value), [])
            if len(users) != 1 or not isinstance(users[0], Map) or users[0].shape != value.shape:
                return value
            if not self._plan.fuse:
                return value
            value = users[0]


def _users(roots: Sequence[Value]) -> dict[int, list[Value]]:
    found: dict[int, list[Value]] = {}
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for source in value.inputs:
            found.setdefault(id(source), []).append(value)
            waiting.append(source)
    return found


def reaches(value: Value, wanted: Value) -> bool:
    waiting, seen = [value], set()
    while waiting:
        here = waiting.pop()
        if here is wanted:
            return True
        if id(here) not in seen:
            seen.add(id(here))
            waiting += here.inputs
    return False


def reshapes(value: Value, stored: dict[int, Buffer]) -> Iterator[Shape]:
    """Shapes that parts of the same size inside a pointwise value have."""
    if id(value) in stored:
        return
    if isinstance(value, View) and value.in_order:
        yield value.inputs[0].shape
    if isinstance(value, Map | View):
        for source in value.inputs:
            if source.shape == value.shape or isinstance(value, View):
                yield from reshapes(source, stored)
