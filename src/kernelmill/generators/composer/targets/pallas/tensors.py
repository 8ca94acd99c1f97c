"""The reference over whole tensors: what a Pallas kernel computes on blocks of them.

An index would be of no use here: a TPU works on blocks, and a kernel says what becomes of a block.
Folds keep their axes at size one, so that what they give broadcasts against what they were made of.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Extent

Shape = tuple[Extent, ...]
ONE = Extent("1", 1)


class Tensor:
    """One value of the reference."""

    def __init__(
        self, shape: Sequence[Extent], dtype: str, inputs: Sequence["Tensor"] = ()
    ) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self.inputs = tuple(inputs)


class Stored(Tensor):
    """In memory before the kernels run: an input, a parameter or a constant."""

    def __init__(self, name: str, shape: Sequence[Extent], dtype: str) -> None:
        super().__init__(shape, dtype)
        self.name = name


class Number(Tensor):
    """One number that the host knows, as Python."""

    def __init__(self, code: str, dtype: str, shape: Sequence[Extent] = ()) -> None:
        super().__init__(shape, dtype)
        self.code = code


class Iota(Tensor):
    """The index along one axis."""

    def __init__(self, shape: Sequence[Extent], axis: int, dtype: str = "int64") -> None:
        super().__init__(shape, dtype)
        self.axis = axis


class Map(Tensor):
    """A function of elements, with {0}, {1}... for the inputs, which broadcast."""

    def __init__(
        self, template: str, inputs: Sequence[Tensor], shape: Sequence[Extent], dtype: str
    ) -> None:
        super().__init__(shape, dtype, inputs)
        self.template = template


class View(Tensor):
    """The same numbers, otherwise arranged: what the host may do as well."""


class Reshape(View):
    def __init__(self, source: Tensor, shape: Sequence[Extent]) -> None:
        super().__init__(shape, source.dtype, (source,))


class Permute(View):
    def __init__(self, source: Tensor, order: Sequence[int]) -> None:
        super().__init__([source.shape[axis] for axis in order], source.dtype, (source,))
        self.order = tuple(order)


class Kept(Permute):
    """What a kernel wrote as the chip keeps it, in the order of axes that the task has: to turn it
    inside of the kernel would undo just that."""


class Cut(View):
    """A stretch of one axis."""

    def __init__(self, source: Tensor, axis: int, start: str, extent: Extent) -> None:
        shape = [extent if at == axis else size for at, size in enumerate(source.shape)]
        super().__init__(shape, source.dtype, (source,))
        self.axis, self.start = axis, start


class Flip(View):
    """From the end of an axis to its start."""

    def __init__(self, source: Tensor, axis: int) -> None:
        super().__init__(source.shape, source.dtype, (source,))
        self.axis = axis


class Broadcast(Tensor):
    """Repeated along axes of size one."""

    def __init__(self, source: Tensor, shape: Sequence[Extent]) -> None:
        super().__init__(shape, source.dtype, (source,))


class Joined(Tensor):
    """Several tensors one after the other along an axis."""

    def __init__(self, parts: Sequence[Tensor], axis: int, extent: Extent) -> None:
        shape = [extent if at == axis else size for at, size in enumerate(parts[0].shape)]
        super().__init__(shape, parts[0].dtype, parts)
        self.axis = axis


class Padded(Tensor):
    """With a number around it."""

    def __init__(
        self,
        source: Tensor,
        shape: Sequence[Extent],
        edges: Sequence[tuple[int, int]],
        filler: str,
    ) -> None:
        super().__init__(shape, source.dtype, (source,))
        self.edges, self.filler = tuple(edges), filler


class Fold(Tensor):
    """Folded along axes, which stay with size one."""

    def __init__(self, source: Tensor, axes: Sequence[int], op: str) -> None:
        shape = [ONE if at in axes else size for at, size in enumerate(source.shape)]
        super().__init__(shape, source.dtype, (source,))
        self.axes, self.op = tuple(axes), op


class Scan(Tensor):
    """A running fold along one axis, from either end."""

    def __init__(self, source: Tensor, axis: int, op: str, backwards: bool = False) -> None:
        super().__init__(source.shape, source.dtype, (source,))
        self.axis, self.op, self.backwards = axis, op, backwards


class Product(Tensor):
    """left[..., m, k] times right[..., k, n]; the axes in front broadcast."""

    def __init__(self, left: Tensor, right: Tensor, lead: Sequence[Extent]) -> None:
        shape = [*lead, left.shape[-2], right.shape[-1]]
        super().__init__(shape, left.dtype, (left, right))


class Slide(NamedTuple):
    """How a window moves along one axis."""

    kernel: int
    stride: int
    pad: int
    dilation: int


class Pool(Tensor):
    """Windows over the last axes, folded: `sum`, `max`, or the mean of `adaptive` ones."""

    def __init__(
        self, source: Tensor, shape: Sequence[Extent], op: str, slides: Sequence[Slide]
    ) -> None:
        super().__init__(shape, source.dtype, (source,))
        self.op, self.slides = op, tuple(slides)


class Phased(View):
    """A padded image as a window of some stride sees it: every stride-th element is a neighbour.

    [n, c, y, x] becomes [n, phase, c, y / stride, x / stride].
    """

    def __init__(self, source: Tensor, shape: Sequence[Extent], slides: Sequence[Slide]) -> None:
        super().__init__(shape, source.dtype, (source,))
        self.slides = tuple(slides)


class Convolution(Tensor):
    """image[n, (phase,) c, y, x] under weights[o, tap * c]; or the transpose of one."""

    def __init__(
        self,
        image: Tensor,
        weights: Tensor,
        shape: Sequence[Extent],
        slides: Sequence[Slide],
        groups: int,
        transposed: bool,
    ) -> None:
        super().__init__(shape, image.dtype, (image, weights))
        self.slides, self.groups, self.transposed = tuple(slides), groups, transposed

    @property
    def depthwise(self) -> bool:
        """Whether every channel is on its own."""
        channels = self.inputs[0].shape[-len(self.slides) - 1]
        return self.groups > 1 and self.groups == channels.value == self.shape[1].value


def walk(roots: Sequence[Tensor]) -> list[Tensor]:
    """Everything the roots are made of, inputs first."""
    found: dict[int, Tensor] = {}

    def visit(tensor: Tensor) -> Iterator[Tensor]:
        if id(tensor) in found:
            return
        for source in tensor.inputs:
            yield from visit(source)
        if id(tensor) not in found:
            found[id(tensor)] = tensor
            yield tensor

    return [tensor for root in roots for tensor in visit(root)]


def same_sizes(left: Sequence[Extent], right: Sequence[Extent]) -> bool:
    return [one.code for one in left] == [other.code for other in right]


class Segment(NamedTuple):
    """Neighbouring axes before and after a reshape that hold the same elements."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """One axis that stays one axis."""
        return len(self.before) == len(self.after) == 1


def segments(before: Sequence[Extent], after: Sequence[Extent]) -> list[Segment]:
    """How the axes of two shapes match, axes of size one left out; by the shown sizes."""
    old = [axis for axis, size in enumerate(before) if size.code != "1"]
    new = [axis for axis, size in enumerate(after) if size.code != "1"]
    found = []
    while old or new:
        left, right = old[:1], new[:1]
        old, new = old[1:], new[1:]
        if not left or not right:
            found.append(Segment(tuple(left + old), tuple(right + new)))
            break
        while _count(before, left) != _count(after, right):
            if _count(before, left) < _count(after, right) and old:
                left.append(old.pop(0))
            elif new:
                right.append(new.pop(0))
            else:
                left.append(old.pop(0))
        found.append(Segment(tuple(left), tuple(right)))
    return found


def _count(shape: Sequence[Extent], axes: Sequence[int]) -> int:
    count = 1
    for axis in axes:
        count *= shape[axis].value
    return count
