"""The reference as plain data: ATen operators over tensors whose sizes may be symbols."""

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec


class Extent(msgspec.Struct, frozen=True):
    """One size: an expression over the task's symbols, and its value at the shown shape."""

    code: str
    """Valid in C++ and Python alike (`floordiv(a, b)` for a division)."""
    value: int

    @property
    def fixed(self) -> bool:
        return self.code.isdigit()


class Reference(msgspec.Struct, frozen=True, tag="ref"):
    """An argument that is another node's result; `part` of it where that has several."""

    node: str
    part: int = 0


class Size(msgspec.Struct, frozen=True, tag="size"):
    """An argument that is a size."""

    extent: Extent


class Real(msgspec.Struct, frozen=True, tag="real"):
    """An argument that is a C++ expression: computed from sizes, or not finite."""

    code: str


class TensorSpec(msgspec.Struct, frozen=True):
    """What a tensor is."""

    dtype: str
    shape: tuple[Extent, ...]


Plain = Reference | Size | Real | bool | int | float | str | None
if TYPE_CHECKING:
    Argument = Any  # every rule knows what its operator takes
else:
    Argument = Plain | list[Plain | list[Plain]]


class Node(msgspec.Struct, frozen=True):
    """One operator call."""

    name: str
    op: str
    """`add.Tensor`: the ATen operator without its namespace."""
    arguments: list[Argument]
    keywords: dict[str, Argument]
    results: tuple[TensorSpec, ...]


class Source(msgspec.Struct, frozen=True):
    """Where a tensor comes from: an argument of forward, the state dict, or a constant."""

    name: str
    kind: TensorSpec
    origin: str
    """`input`, `state` or `constant`."""
    key: str
    """Where the input is (`0`; `1[2]` for one in a list); its name in the state dict."""
    values: tuple[float | Real, ...] = ()
    """Of a constant."""


class Symbol(NamedTuple):
    """A size that varies: that of one input along one axis, divided by a factor."""

    input: str
    axis: int
    value: int
    """At the shown shape."""
    factor: int = 1


class FixedInput(msgspec.Struct, frozen=True):
    """An argument of forward that is no tensor: its value, or its length, is part of the graph."""

    key: str
    """Where it is, as in `Source`."""
    value: bool | int | float | str | None
    is_length: bool = False


class Graph(msgspec.Struct, frozen=True):
    sources: tuple[Source, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Reference, ...]
    returned: str
    """What forward returns, as Python over the outputs y0, y1..."""
    symbols: dict[str, Symbol]
    conditions: tuple[str, ...] = ()
    """On sizes, beside those that shapes express: without them the graph is not the reference."""
    fixed: tuple[FixedInput, ...] = ()
    constructor: str = ""
    """The reference's constructor as a class `ModelNew` of a Python module; empty if unknown."""
    half: str = ""
    """The half type that all of its floats have in the reference; empty if any has another."""
