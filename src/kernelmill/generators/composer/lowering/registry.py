"""ATen operators by name, and what they mean as values."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.graph import Extent, Graph, Node, Real, Size, Source
from kernelmill.generators.composer.index import Index
from kernelmill.generators.composer.lowering.walk import Walk, registering
from kernelmill.generators.composer.values import CTYPES, Buffer, Literal, Map, Value, View
from kernelmill.records.tensors import HALF_TYPES


class Lowering(Walk[Value]):
    """Every node becomes a value."""

    rules: ClassVar[dict[str, Callable[..., Value | Sequence[Value | None]]]] = {}
    dtypes = CTYPES

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
            return Literal(f"{CTYPES[dtype]}({name})", dtype)
        return Literal(literal(argument, dtype), dtype)

    def operands(self, node: Node, arguments: Sequence[Any], dtype: str) -> list[Value]:
        """Arguments broadcast to the shape of the node's result."""
        shape = node.results[0].shape
        return [broadcast(self.value(argument, dtype), shape) for argument in arguments]


lowers = registering(Lowering.rules)


def literal(number: Any, dtype: str) -> str:
    """A number as C++ of the given type."""
    ctype = CTYPES[dtype]
    if isinstance(number, Size):
        return f"{ctype}({number.extent.code})"
    if isinstance(number, Real):
        return f"{ctype}({number.code})"
    if dtype == "bool":
        return "true" if number else "false"
    if dtype in ("float32", "float64"):
        if number != number:
            return "km::nan"
        if number in (float("inf"), float("-inf")):
            return "-km::inf" if number < 0 else "km::inf"
        text = repr(float(number))
        code = f"{text}f" if dtype == "float32" else text
        return f"({code})" if number < 0 else code
    return f"{ctype}({int(number)})"


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
        return Index(["0" if one else part for one, part in zip(single, parts, strict=True)])

    return View(value, shape, remap)


def cast(value: Value, dtype: str) -> Value:
    if value.dtype == dtype:
        return value
    return Map(_conversion(value.dtype, dtype), [value], dtype, value.shape)


def _conversion(given: str, wanted: str) -> str:
    if wanted == "bool":
        return "({0} != 0)"
    if wanted in HALF_TYPES:
        return f"to_{wanted}({{0}})"
    return "from_half({0})" if given in HALF_TYPES else f"{CTYPES[wanted]}({{0}})"


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
