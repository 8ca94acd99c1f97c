"""A lowered graph in readable form: one line for every value, its operands by their numbers."""

from collections.abc import Sequence

from kernelmill.generators.composer.ir.expressions import Expression, Variable, filled
from kernelmill.generators.composer.ir.graph import Extent, Graph, Source
from kernelmill.generators.composer.ir.index import Flat, Index
from kernelmill.generators.composer.ir.values import (
    Attention,
    Buffer,
    Coordinate,
    Guarded,
    Joined,
    Literal,
    Lookup,
    Map,
    Ranking,
    Reduce,
    Scan,
    Scatter,
    Value,
    View,
)
from kernelmill.generators.composer.lowering import Lowering
from kernelmill.generators.composer.lowering.decisions import CATALOGUE
from kernelmill.generators.composer.plan import Plan


def lowered_text(graph: Graph) -> str:
    """What the composer makes kernels of, with the default decisions."""
    values = Lowering(graph, Plan({}, CATALOGUE)).run()
    listing = _Listing()
    results = [listing.name(value) for value in values]
    sources = [_source_line(source) for source in graph.sources]
    return "\n".join([*sources, *listing.lines, f"return {', '.join(results)}"])


def _source_line(source: Source) -> str:
    place = f" {source.key}" if source.origin != "constant" else ""
    return (
        f"in_{source.name}: {source.kind.dtype}{_sizes(source.kind.shape)} = {source.origin}{place}"
    )


def _sizes(shape: Sequence[Extent]) -> str:
    return f"[{', '.join(extent.code for extent in shape)}]"


class _Listing:
    """Lines in an order in which every value comes after those that it is made of."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._kept: list[Value] = []

    def name(self, value: Value) -> str:
        if isinstance(value, Buffer):
            return value.name
        if isinstance(value, Literal):
            return str(value.number)
        if id(value) not in self._names:
            definition = self._definition(value)
            self._kept.append(value)  # ids are only unique while their owners live
            self._names[id(value)] = f"v{len(self._names)}"
            name, kind = self._names[id(value)], f"{value.dtype}{_sizes(value.shape)}"
            self.lines.append(f"{name}: {kind} = {definition}")
        return self._names[id(value)]

    def _definition(self, value: Value) -> str:
        operands = [self.name(operand) for operand in value.inputs]
        match value:
            case Map():
                return str(filled(value.function, [Variable(name) for name in operands]))
            case View():
                return f"{operands[0]}{self._place(value.remap(_own_index(value)))}"
            case Guarded():
                return self._guarded(value, operands[0])
            case Lookup():
                places: list[Expression] = [Variable(name) for name in operands[1:]]
                return f"{operands[0]}{self._place(value.remap(_own_index(value), places))}"
            case Coordinate():
                return f"i{value.axis}"
            case Joined():
                return f"join({', '.join(operands)}) along axis {value.axis}"
            case Reduce():
                axes = ", ".join(f"{axis}" for axis in value.axes)
                window = " of a window" if value.window else ""
                return f"{value.op} of {operands[0]} along axes {axes}{window}"
            case Scan():
                return f"running {value.op} of {operands[0]} along axis {value.axis}"
            case _:
                return self._whole(value, operands)

    def _guarded(self, value: Guarded, source: str) -> str:
        index = _own_index(value)
        element = f"{source}{self._place(value.remap(index))}"
        condition = value.condition(index)
        return element if condition is None else f"{condition} ? {element} : {value.otherwise}"

    def _whole(self, value: Value, operands: Sequence[str]) -> str:
        """A value that is made by a kernel of its own."""
        kind, more = type(value).__name__.lower(), ""
        if isinstance(value, Attention):
            more = f", scale {self.name(value.scale)}" + (", causal" if value.causal else "")
        elif isinstance(value, Scatter):
            more = f", {value.op}"
        elif isinstance(value, Ranking):
            more = f", axis {value.axis}, {'descending' if value.descending else 'ascending'}"
        return f"{kind}({', '.join(operands)}{more})"

    def _place(self, index: Index) -> str:
        if isinstance(index, Flat):
            return f".flat[{index.position}]"
        return f"[{', '.join(str(part) for part in index.parts)}]"


def _own_index(value: Value) -> Index:
    return Index([f"i{axis}" for axis in range(len(value.shape))])
