"""Contractions in loops: operands and what is stored, as functions of places."""

from abc import ABC, abstractmethod

from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Element,
    Expression,
    Plain,
    Variable,
    applies,
)
from kernelmill.generators.composer.ir.index import ZERO, Index, add, div, mod, mul
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    Guarded,
    Literal,
    Map,
    Unfit,
    Value,
    View,
    Window,
)
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.scope import Scope
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    Return,
    Statement,
    Statements,
    Vectors,
)
from kernelmill.generators.composer.plan import Plan

_WIDE = 64


class Emission(ABC):
    """What the contractions of C++ and RISC-V have in common."""

    def __init__(self, contract: Contract, plan: Plan, stored: dict[int, Buffer]) -> None:
        self._contract = contract
        self._form = contract.form
        self._inputs = contract.inputs
        self._plan = plan
        self._stored = stored

    def _operand(
        self, name: str, number: int, index: Index, parameters: str, before: str = ""
    ) -> list[Statement]:
        value = self._inputs[number]
        self._demand_cheap(value)
        scope = Scope(stored=self._stored)
        result = scope.value(value, index)
        first = [before] if before else []
        head = f"const auto {name} = [=]({parameters}) -> float {{"
        return [Block(head, [*first, *scope.lines, Return(result)], "};", in_line=True)]

    def _demand_cheap(self, value: Value) -> None:
        """An operand is looked at more than once: what costs something is computed before."""
        value = self._beneath(value)
        if isinstance(value, Buffer | Literal):
            return
        simple = isinstance(value, Map) and value.is_cheap and bool(self._plan.fuse)
        if not simple or not all(
            isinstance(self._beneath(source), Buffer | Literal) for source in value.inputs
        ):
            raise Unfit(value)

    def _beneath(self, value: Value) -> Value:
        """What a value is a view of."""
        while id(value) not in self._stored and isinstance(value, View | Guarded):
            value = value.inputs[0]
        return self._stored.get(id(value), value)

    def _image(self, window: Window) -> tuple[list[Statement], str]:
        """A padded copy of the image, in which every tap is a plain offset; and the operand."""
        form = self._form
        axes = [
            f"{{{size.code}, {out.code}, {m.kernel}, {m.stride}, {m.pad}, {m.dilation}, {m.up}}}"
            for size, out, m in zip(
                window.source.shape[2:], window.places, window.moves, strict=True
            )
        ]
        axes = ["{}"] * (3 - len(axes)) + axes
        lines: list[Statement] = [
            f"const km::Window window{{{window.channels}, {', '.join(axes)}}};",
            f"const km::Shape shape = window.shape({form.batch.code}, {form.rows.code});",
            "const km::Taps taps(window);",
        ]
        index, right = form.left("b", "m", "k"), "km::direct(image, taps.offset)"
        if all(move.up == 1 for move in window.moves):
            lines += self._operand("left", 0, index, "long b, long m, long k")
        else:
            lines.append("const long* order = taps.order;")
            own = "const long k = order[i];"
            lines += self._operand("left", 0, index, "long b, long m, long i", before=own)
            outputs = f"window.outputs<{window.moves[-1].up}>(taps.start)"
            right = f"km::direct(image, taps.offset, {outputs})"
        return [*lines, *self._padded(window)], right

    def _padded(self, window: Window) -> list[Statement]:
        """`image(b)`: the memory that item b's window slides over."""
        source = self._stored.get(id(window.source), window.source)
        untouched = all(m.kernel == m.stride == m.up == 1 and m.pad == 0 for m in window.moves)
        if untouched and isinstance(source, Buffer):
            return [
                f"const auto image = [=](long b) {{ return {source.name} + b * window.image(); }};"
            ]
        group: Plain = 0 if window.groups == 1 else mod("b", window.groups)
        picture: Plain = "b" if window.groups == 1 else div("b", window.groups)
        place = [picture, add(mul(group, window.channels), "channel")]
        scope = Scope(stored=self._stored)
        element = scope.value(source, Index([*place, *"zyx"[-len(window.moves) :]]))
        return self._images([*scope.lines, Return(element)])

    @abstractmethod
    def _images(self, element: Statements) -> list[Statement]:
        """`image(b)`, padded copies; `element`: how a sample at (b, channel, z, y, x) is made."""

    def _store(self, result: Value, target: Buffer) -> list[Statement]:
        if result is self._contract and self._is_straight():
            place = cpp(self._form.out("b", "m", 0, "c").ravel(target.shape))
            at = f"{target.name} + {place}"
            place_of = "long b, long m, long c"
            return [f"const auto store = km::straight([=]({place_of}) {{ return {at}; }});"]
        root = Scope(stored=self._stored)
        root.contraction = self._contract
        body = root.child("v")
        index = self._form.out("b", "m", "r", add("c0", "v"))
        body.names.add("sum")
        body.lines.append("const float sum = sums[v];")
        element = body.value(result, index)
        body.lines.append(Assign(Element(target.name, index.ravel(target.shape)), element))
        root.loop("v", "count", body, vectors=Vectors(16))
        parameters = "long b, long m, long r, long c0, long count, const float* sums"
        head = f"const auto store = [=]({parameters}) {{"
        return [Block(head, root.lines, "};")]

    def _is_straight(self) -> bool:
        """Whether a tile of sums has its shape in the result as well."""
        form = self._form
        in_lines = form.lines.code != "1" or form.window is not None
        wide = form.columns.value >= _WIDE
        return wide and not in_lines and is_separable(form.out("b", "m", 0, "c"), "m")


def is_separable(index: Index, name: str) -> bool:
    """Whether the address is a sum of one for b, one for `name`, and c itself."""
    *outer, last = index.parts or (ZERO,)
    moving = [part for part in index.parts if part.names & {name, "c"}]
    linear = not any(applies(part, Operator.DIV, Operator.MOD) for part in moving)
    return linear and ends_with(last, "c") and not any("c" in part.names for part in outer)


def ends_with(place: Expression, name: str) -> bool:
    """Whether a step of this index is one element."""
    place = place.bare
    if not isinstance(place, Apply) or place.operator is not Operator.ADD:
        return place == Variable(name)
    rest, last = place.operands
    return last == Variable(name) and name not in rest.names
