"""Convolutions of a graph, as they are read and written by rewrites."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kernelmill.generators.composer.ir.graph import Extent, Node, Reference, Size, TensorSpec
from kernelmill.generators.composer.passes.editor import Editor

_STEPS = ("stride", "pad", "dilation", "more")


class Cut(NamedTuple):
    """How much of an image's axis a tap of the kernel never meets."""

    front: int
    back: int


class Slide(NamedTuple):
    """How a kernel moves along one axis."""

    taps: int
    stride: int
    pad: int
    dilation: int
    more: int
    """Additional places at the end of what a transposed convolution makes."""

    def least_size(self, transposed: bool) -> int:
        """Of an image of which anything comes."""
        missing = self.dilation * (self.taps - 1) - 2 * self.pad
        if transposed:
            return 1 + self._steps(-missing - self.more)
        return max(1, 1 + missing)

    def cuts(self) -> list[Cut]:
        """For every tap of a convolution with stride one."""
        last = self.taps - 1
        ahead = [tap * self.dilation - self.pad for tap in range(self.taps)]
        return [Cut(max(0, ahead[tap]), max(0, ahead[last - tap])) for tap in range(self.taps)]

    def transposed_cuts(self) -> list[Cut]:
        """For every tap of a transposed convolution."""
        last = self.taps - 1
        missed = [self.pad - tap * self.dilation for tap in range(self.taps)]
        return [
            Cut(self._steps(missed[tap]), self._steps(missed[last - tap] - self.more))
            for tap in range(self.taps)
        ]

    def _steps(self, places: int) -> int:
        """Elements of the image that so many places take."""
        return max(0, -(-places // self.stride))


class Convolution(NamedTuple):
    image: Reference
    weight: Reference
    bias: Reference | None
    slides: tuple[Slide, ...]
    transposed: bool
    groups: int

    @property
    def rank(self) -> int:
        return len(self.slides)


def read_convolution(editor: Editor, node: Node | None) -> Convolution | None:
    """A convolution with a kernel of fixed size; None for anything else."""
    if node is None or node.op != "convolution":
        return None
    image, weight, bias, stride, pad, dilation, transposed, more, groups = node.arguments
    taps = editor.kind(weight).shape[2:]
    steps = [_numbers(given, len(taps)) for given in (stride, pad, dilation, more)]
    if not all(size.fixed for size in editor.kind(weight).shape):
        return None
    slides = zip([size.value for size in taps], *steps, strict=True)
    moves = tuple(Slide(*slide) for slide in slides)
    return Convolution(image, weight, bias, moves, bool(transposed), int(groups))


def convolved(editor: Editor, given: Convolution, shape: Sequence[Extent]) -> Reference:
    steps = [[getattr(slide, name) for slide in given.slides] for name in _STEPS]
    stride, pad, dilation, more = steps
    arguments = [given.image, given.weight, given.bias, stride, pad, dilation, given.transposed]
    kind = TensorSpec(editor.kind(given.image).dtype, tuple(shape))
    return editor.call("convolution", [*arguments, more, given.groups], kind)


def _numbers(given: Any, rank: int) -> list[int]:
    values = given if isinstance(given, list) else [given]
    numbers = [
        int(value.extent.code) if isinstance(value, Size) else int(value) for value in values
    ]
    return numbers * rank if len(numbers) == 1 else numbers
