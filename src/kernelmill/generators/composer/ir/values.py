"""The composer's intermediate form: values, defined element by element.

A value says how to compute one element of it: `emit` writes what that needs into a scope and
returns the expression, as a tree. Views only change the index, so they cost nothing. Values that
need a loop of their own (`Reduce`, `Scan`) are written where their index is known, outside the
loops that do not matter to them: that alone makes softmax and norms pass over rows as they should.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self

from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Cast,
    Constant,
    Element,
    Expression,
    Plain,
    Variable,
    both,
    filled,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Index, add, reshaped, sub
from kernelmill.generators.composer.ir.sizes import size

Shape = tuple[Extent, ...]


class Scope(Protocol):
    """Where an element is written: what a target has to offer to values.

    What it has no words for it refuses with `Unfit`.
    """

    def value(self, value: "Value", index: Index) -> Expression:
        """The element of a value as an expression, written where it belongs."""

    def define(self, dtype: str, value: Expression) -> Expression:
        """A name for a value, or the value itself."""

    def declare(self, dtype: str, value: Expression) -> Variable:
        """The same, to be assigned to."""

    def guarded(self, condition: Expression | None) -> AbstractContextManager[Self]:
        """A scope for what is needed only where a condition holds."""

    def define_guarded(
        self, dtype: str, inner: Self, result: Expression, otherwise: Expression
    ) -> Expression:
        """A value where the condition of `inner` holds, something else elsewhere."""

    def assign_guarded(self, name: Variable, inner: Self, result: Expression) -> None:
        """Assign where the condition of `inner` holds."""

    def part(self, joined: "Joined", place: Expression) -> int | None:
        """Which of several joined values a place is in, where that is known beforehand."""

    def fold(self, value: "Reduce", index: Index) -> Expression: ...

    def running(self, value: "Scan", index: Index) -> Expression: ...

    def contracted(self, value: "Contract") -> Expression: ...

    def apart(self, value: "Apart") -> Expression: ...

    def unfit(self, value: "Value") -> Expression: ...


class Value(ABC):
    """One tensor."""

    def __init__(self, shape: Sequence[Extent], dtype: str, inputs: Sequence["Value"] = ()) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self.inputs = tuple(inputs)

    @abstractmethod
    def emit(self, scope: Scope, index: Index) -> Expression:
        """Write what is needed to know the element at `index`; return it as an expression."""


class Unfit(Exception):
    """A value cannot be written here; it must be stored first."""

    def __init__(self, value: Value) -> None:
        self.value = value
        super().__init__(type(value).__name__)


class Buffer(Value):
    """Memory: an input, a parameter, or a result that was stored."""

    def __init__(self, name: str, shape: Sequence[Extent], dtype: str) -> None:
        super().__init__(shape, dtype)
        self.name = name

    @property
    def memory(self) -> "Buffer":
        """All that lies under its name."""
        return self

    def place(self, index: Index) -> Expression:
        """Where in its memory an element lies."""
        return index.ravel(self.shape)

    def reshaped(self, shape: Sequence[Extent]) -> "Buffer":
        """The same elements in the same order, in another shape."""
        return Buffer(self.name, shape, self.dtype)

    def region(self, shape: Sequence[Extent], axis: int, start: Expression) -> "Region":
        """The part of it that begins at a place along an axis."""

        def place(index: Index) -> Expression:
            parts = list(index.parts)
            parts[axis] = add(start, parts[axis])
            return self.place(Index(parts))

        return Region(self.memory, shape, place)

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.define(self.dtype, Element(self.name, self.place(index)))


class Region(Buffer):
    """A part of other memory."""

    def __init__(
        self, memory: Buffer, shape: Sequence[Extent], place: Callable[[Index], Expression]
    ) -> None:
        super().__init__(memory.name, shape, memory.dtype)
        self._memory, self._place = memory, place

    @property
    def memory(self) -> Buffer:
        return self._memory

    def place(self, index: Index) -> Expression:
        return self._place(index)

    def reshaped(self, shape: Sequence[Extent]) -> Buffer:
        return Region(
            self._memory, shape, lambda index: self._place(reshaped(index, shape, self.shape))
        )


class Literal(Value):
    """The same number everywhere."""

    def __init__(self, number: Expression, dtype: str, shape: Sequence[Extent] = ()) -> None:
        super().__init__(shape, dtype)
        self.number = number

    def emit(self, scope: Scope, index: Index) -> Expression:
        return self.number


class Coordinate(Value):
    """The index along one axis, as a number."""

    def __init__(self, shape: Sequence[Extent], axis: int, dtype: str = "int64") -> None:
        super().__init__(shape, dtype)
        self.axis = axis

    def emit(self, scope: Scope, index: Index) -> Expression:
        return Cast(self.dtype, index[self.axis].bare)


class Map(Value):
    """A function of elements at the same index, as an expression of its arguments."""

    def __init__(
        self, function: Expression, inputs: Sequence[Value], dtype: str, shape: Sequence[Extent]
    ) -> None:
        super().__init__(shape, dtype, inputs)
        self.function = function

    @property
    def is_cheap(self) -> bool:
        """Whether it costs no more than a few instructions."""
        return not any(
            isinstance(node, Apply) and node.operator.is_costly for node in self.function.nodes()
        )

    def emit(self, scope: Scope, index: Index) -> Expression:
        arguments = [scope.value(value, index) for value in self.inputs]
        return scope.define(self.dtype, filled(self.function, arguments))


class View(Value):
    """Elements of another value, elsewhere."""

    def __init__(
        self,
        source: Value,
        shape: Sequence[Extent],
        remap: Callable[[Index], Index],
        in_order: bool = False,
    ) -> None:
        super().__init__(shape, source.dtype, (source,))
        self.remap = remap
        self.in_order = in_order
        """Whether it has the same elements in the same order: stored, it is the same memory."""

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.value(self.inputs[0], self.remap(index))


class Guarded(Value):
    """Elements of another value where a condition on the index holds, something else elsewhere."""

    def __init__(
        self,
        source: Value,
        shape: Sequence[Extent],
        remap: Callable[[Index], Index],
        condition: Callable[[Index], Expression | None],
        otherwise: Expression,
    ) -> None:
        super().__init__(shape, source.dtype, (source,))
        self.remap = remap
        self.condition = condition
        self.otherwise = otherwise

    def emit(self, scope: Scope, index: Index) -> Expression:
        condition = self.condition(index)
        if condition is None:
            return scope.value(self.inputs[0], self.remap(index))
        with scope.guarded(condition) as inner:
            result = inner.value(self.inputs[0], self.remap(index))
        return scope.define_guarded(self.dtype, inner, result, self.otherwise)


class Joined(Value):
    """Several values one after the other along an axis."""

    def __init__(
        self,
        parts: Sequence[Value],
        starts: Sequence[Expression],
        shape: Sequence[Extent],
        axis: int,
    ) -> None:
        super().__init__(shape, parts[0].dtype, parts)
        self.starts = tuple(starts)
        self.axis = axis

    def emit(self, scope: Scope, index: Index) -> Expression:
        place = index[self.axis]
        known = scope.part(self, place)
        if known is not None:
            return scope.value(self.inputs[known], self._inside(index, known))
        name = scope.declare(self.dtype, Constant(0))
        for number, (part, start) in enumerate(zip(self.inputs, self.starts, strict=True)):
            end = add(start, size(part.shape[self.axis]))
            conditions = [place >= start] if number else []
            conditions += [place < end] if number < len(self.inputs) - 1 else []
            with scope.guarded(both(*conditions)) as inner:
                result = inner.value(part, self._inside(index, number))
            scope.assign_guarded(name, inner, result)
        return name

    def _inside(self, index: Index, number: int) -> Index:
        """The same place, counted from the start of a part."""
        parts = list(index.parts)
        parts[self.axis] = sub(parts[self.axis], self.starts[number])
        return Index(parts)


class Lookup(Value):
    """Elements of a stored value at places that other values say."""

    def __init__(
        self,
        source: Value,
        places: Sequence[Value],
        shape: Sequence[Extent],
        remap: Callable[[Index, list[Expression]], Index],
        place_index: Callable[[Index], Index] = lambda index: index,
    ) -> None:
        super().__init__(shape, source.dtype, (source, *places))
        self.remap = remap
        self.place_index = place_index

    def emit(self, scope: Scope, index: Index) -> Expression:
        source, *places = self.inputs
        at = [scope.value(place, self.place_index(index)) for place in places]
        return scope.value(source, self.remap(index, at))


class Reduce(Value):
    """A value folded along axes, which vanish. The loops of the fold are its own."""

    def __init__(
        self,
        source: Value,
        axes: Sequence[int],
        op: str,
        dtype: str,
        window: bool = False,
        slides: Sequence["SlidingAxis"] = (),
    ) -> None:
        self.axes = tuple(sorted(axes))
        shape = [extent for axis, extent in enumerate(source.shape) if axis not in self.axes]
        super().__init__(shape, dtype, (source,))
        self.op = op
        self.window = window
        """Whether the axes are a small window that slides over memory."""
        self.slides = tuple(slides)
        """Axes along which the window may reach beyond the input, where nothing is folded."""

    @property
    def contiguous(self) -> bool:
        """Whether the fold runs along memory."""
        return not self.window and len(self.inputs[0].shape) - 1 in self.axes

    def source_index(self, index: Index, folded: Sequence[Plain]) -> Index:
        kept, gone = iter(index.parts), iter(folded)
        rank = len(self.inputs[0].shape)
        return Index([next(gone) if axis in self.axes else next(kept) for axis in range(rank)])

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.fold(self, index)


class SlidingAxis(NamedTuple):
    """One axis of a window: element `place * stride + tap * dilation - pad` of `size`."""

    place: int
    """Axis of the result."""
    tap: int
    """Which of the folded axes."""
    stride: int
    dilation: int
    pad: int
    size: Extent


class Scan(Value):
    """A running fold along one axis."""

    def __init__(self, source: Value, axis: int, op: str) -> None:
        super().__init__(source.shape, source.dtype, (source,))
        self.axis = axis
        self.op = op

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.running(self, index)


class Apart(Value):
    """A value that only a kernel of its own can make."""

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.apart(self)


class Scatter(Apart):
    """A base, with elements of an update put (or folded) into places that other values say."""

    def __init__(
        self,
        base: Value,
        update: Value,
        places: Sequence[Value],
        target: Callable[[Index, list[Expression]], Index],
        place_index: Callable[[Index], Index] = lambda index: index,
        op: str = "set",
    ) -> None:
        super().__init__(base.shape, base.dtype, (base, update, *places))
        self.target = target
        self.place_index = place_index
        self.op = op
        """`set`, or the fold of what was there and what comes."""


class Bags(Apart):
    """Sums of neighbouring rows: those from `starts` to before `ends`, for every bag."""

    def __init__(self, rows: Value, starts: Value, ends: Value) -> None:
        super().__init__([starts.shape[0], rows.shape[1]], rows.dtype, (rows, starts, ends))


class Ranking(Apart):
    """Where the first `count` elements along an axis are, once sorted (equal ones in order)."""

    def __init__(self, source: Value, axis: int, count: Extent, descending: bool) -> None:
        shape = [count if at == axis else extent for at, extent in enumerate(source.shape)]
        super().__init__(shape, "int64", (source,))
        self.axis = axis
        self.count = count
        self.descending = descending


class Attention(Value):
    """softmax(scale * query key^T + mask) value, for [batch, heads, rows, width]."""

    def __init__(
        self, inputs: Sequence[Value], shape: Sequence[Extent], causal: bool, scale: Value
    ) -> None:
        super().__init__(shape, "float32", inputs)
        self.causal = causal
        self.scale = scale

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.unfit(self)


class Contract(Value):
    """Sums of products: out[b, m, r, c] = sum over k of left(b, m, k) * right(b, k, r, c)."""

    def __init__(
        self,
        left: Value,
        right: Value,
        shape: Sequence[Extent],
        form: "ContractForm",
    ) -> None:
        super().__init__(shape, left.dtype, (left, right))
        self.form = form

    def emit(self, scope: Scope, index: Index) -> Expression:
        return scope.contracted(self)


class ContractForm:
    """How the operands of a contraction are addressed."""

    def __init__(
        self,
        batch: Extent,
        rows: Extent,
        depth: Extent,
        lines: Extent,
        columns: Extent,
        left: Callable[[Plain, Plain, Plain], Index],
        right: Callable[[Plain, Plain, Plain, Plain], Index],
        out: Callable[[Plain, Plain, Plain, Plain], Index],
        left_along: str,
        right_along: str,
        copies: str = "1",
        window: "Window | None" = None,
    ) -> None:
        self.batch, self.rows, self.depth = batch, rows, depth
        self.lines, self.columns = lines, columns
        self.left, self.right, self.out = left, right, out
        self.left_along, self.right_along = left_along, right_along
        """Which index moves along memory: `k`, or the `other` one."""
        self.copies = copies
        """How many different left operands there are: batch item b uses number b % copies."""
        self.window = window
        """What the right operand is a window of, where it can be read in place."""


class Window(NamedTuple):
    """The image a convolution slides over."""

    source: Value
    groups: int
    moves: Sequence["Any"]
    places: Sequence[Extent]
    """Sizes of the output along the window's axes."""
    channels: int
    """Of one group."""
