"""ATen operators by name, and what they mean as values."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kernelmill.generators.composer.ir.dtypes import DTYPES
from kernelmill.generators.composer.ir.expressions import (
    Argument,
    Cast,
    Constant,
    Expression,
    Variable,
    apply,
)
from kernelmill.generators.composer.ir.graph import Extent, Graph, Node, Real, Size, Source
from kernelmill.generators.composer.ir.index import ZERO, Index
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import read_size, size
from kernelmill.generators.composer.ir.values import Buffer, Literal, Map, Value, View
from kernelmill.generators.composer.lowering.walk import Walk, registering
from kernelmill.generators.composer.plan import Plan
from kernelmill.records.tensors import HALF_TYPES


class Lowering(Walk[Value]):
    """Every node becomes a value."""

    rules: ClassVar[dict[str, Callable[..., Value | Sequence[Value | None]]]] = {}
    dtypes = DTYPES

    def __init__(self, graph: Graph, plan: Plan, folds_places: bool = False) -> None:
        self.folds_places = folds_places
        """Whether the place of an extreme element is a fold along any axis."""
        self.numbers: dict[str, str] = {}
        """Real numbers computed from sizes, and their names in the program."""
        super().__init__(graph, plan)

    def _source(self, source: Source) -> Value:
        kind = source.kind
        if source.origin == "constant" and len(source.values) == 1:
            return Literal(literal(source.values[0], kind.dtype), kind.dtype, kind.shape)
        return Buffer(f"in_{source.name}", kind.shape, kind.dtype)

    def _number(self, argument: Any, dtype: str) -> Value:
        if isinstance(argument, Real):
            name = self.numbers.setdefault(argument.code, f"number_{len(self.numbers)}")
            return Literal(Cast(dtype, Variable(name)), dtype)
        return Literal(literal(argument, dtype), dtype)

    def operands(self, node: Node, arguments: Sequence[Any], dtype: str) -> list[Value]:
        """Arguments broadcast to the shape of the node's result."""
        shape = node.results[0].shape
        return [broadcast(self.value(argument, dtype), shape) for argument in arguments]


lowers = registering(Lowering.rules)


def literal(number: Any, dtype: str) -> Expression:
    """A number as one of the given type."""
    if isinstance(number, Size):
        return Cast(dtype, size(number.extent))
    if isinstance(number, Real):
        return Cast(dtype, read_size(number.code))
    if dtype == "bool":
        return Constant(bool(number), dtype)
    return Constant(float(number) if dtype in ("float32", "float64") else int(number), dtype)


def extent_of(argument: Any) -> Extent:
    """A size argument."""
    return argument.extent if isinstance(argument, Size) else Extent(str(argument), int(argument))


def broadcast(value: Value, shape: Sequence[Extent]) -> Value:
    """The same value seen at another shape, repeated along axes of size one."""
    if value.shape == tuple(shape) or isinstance(value, Literal):
        return value
    missing = len(shape) - len(value.shape)
    single = [
        extent.code == "1" and shape[missing + axis].code != "1"
        for axis, extent in enumerate(value.shape)
    ]

    def remap(index: Index) -> Index:
        parts = index.parts[missing:]
        return Index([ZERO if one else part for one, part in zip(single, parts, strict=True)])

    return View(value, shape, remap)


def cast(value: Value, dtype: str) -> Value:
    if value.dtype == dtype:
        return value
    return Map(_conversion(value.dtype, dtype), [value], dtype, value.shape)


def _conversion(given: str, wanted: str) -> Expression:
    number = Argument(0)
    if wanted == "bool":
        return apply(Operator.NE, number, 0)
    if wanted in HALF_TYPES:
        return apply(_TO_HALF[wanted], number)
    return apply(Operator.FROM_HALF, number) if given in HALF_TYPES else Cast(wanted, number)


_TO_HALF = {"float16": Operator.TO_FLOAT16, "bfloat16": Operator.TO_BFLOAT16}


def keyword(node: Node, position: int, name: str, default: Any = None) -> Any:
    """An argument given by position or by name."""
    if position < len(node.arguments):
        return node.arguments[position]
    return node.keywords.get(name, default)


def axes_of(argument: Any, rank: int) -> list[int]:
    """Axes counted from the front; None or none at all means every axis."""
    if argument is None or argument == []:
        return list(range(rank))
    given = argument if isinstance(argument, list) else [argument]
    return sorted(axis % rank if rank else 0 for axis in given)
