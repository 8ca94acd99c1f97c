"""Window averages of convolutions, from an image or a kernel that was averaged before.

What pooling makes of a convolution is a convolution with longer steps, of an image whose elements
are the means of their windows. What it makes of a transposed convolution whose steps it undoes is
a convolution without gaps, with the means of the kernel's windows.
"""

from collections.abc import Mapping, Sequence
from math import prod

from kernelmill.generators.composer.ir.graph import Extent, Node, Reference
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.averaging import Window, averaged, windows_of
from kernelmill.generators.composer.passes.calls import flipped, padded, permute
from kernelmill.generators.composer.passes.convolutions import Convolution, Slide, convolved
from kernelmill.generators.composer.passes.editor import Editor

_LEAST_GAIN = 2.0
"""Of multiplications: a convolution with longer steps reads memory less evenly."""
_POOLING = 4
"""An addition of pooling, in multiplications of a convolution."""


def window_mean(
    editor: Editor, given: Convolution, node: Node, windows: Mapping[int, Window]
) -> Reference | None:
    """The averages of windows along places; None where that would hardly save multiplications."""
    images, channels, *sizes = node.results[0].shape
    every = [windows.get(axis, Window(1, 1, size)) for axis, size in enumerate(sizes, 2)]
    shape = [images, channels, *(window.places for window in every)]
    if given.transposed:
        made = _without_gaps(editor, given, every)
    else:
        made = _with_steps(editor, given, windows)
    if made is None or _work(editor, made, shape) * _LEAST_GAIN > _work(
        editor, given, node.results[0].shape
    ):
        return None
    return convolved(editor, made, shape)


def _with_steps(
    editor: Editor, given: Convolution, windows: Mapping[int, Window]
) -> Convolution | None:
    """Of an image of window means, a window beginning at every element."""
    slides = list(given.slides)
    edges = [(0, 0)] * given.rank
    for axis, window in windows.items():
        slide = slides[axis - 2]
        if slide.stride != 1:
            return None
        edges[axis - 2] = (slide.pad, slide.pad)
        slides[axis - 2] = slide._replace(stride=window.step, pad=0)
    kernel = editor.kind(given.weight).shape
    once = product([kernel[0], *kernel[2:]]).value  # multiplications for an element of the image
    if _POOLING * prod(window.width for window in windows.values()) > once:
        return None
    image = padded(editor, given.image, edges)
    sizes = editor.kind(image).shape
    every = {axis: windows_of(w.width, 1, sizes[axis]) for axis, w in windows.items()}
    means = averaged(editor, image, every)
    return given._replace(image=means, slides=tuple(slides))


def _without_gaps(
    editor: Editor, given: Convolution, windows: Sequence[Window]
) -> Convolution | None:
    """Of a kernel of window means: those that are a whole number of elements apart."""
    pairs = list(zip(given.slides, windows, strict=True))
    if given.groups != 1 or any(s.dilation != 1 or w.step % s.stride for s, w in pairs):
        return None
    axes = [_Phase(slide, window) for slide, window in pairs]
    kernel = padded(editor, given.weight, [axis.kernel_edges for axis in axes])
    parts = {
        axis: windows_of(window.width, slide.stride, editor.kind(kernel).shape[axis])
        for axis, (slide, window) in enumerate(pairs, 2)
    }
    kernel = averaged(editor, kernel, parts)
    kernel = flipped(editor, kernel, list(range(2, 2 + given.rank)))
    even = [axis.image_edges[0] == axis.image_edges[1] >= 0 for axis in axes]
    edges = [(0, 0) if same else axis.image_edges for same, axis in zip(even, axes, strict=True)]
    slides = [
        Slide(axis.taps, axis.stride, axis.image_edges[0] if same else 0, 1, 0)
        for same, axis in zip(even, axes, strict=True)
    ]
    return Convolution(
        padded(editor, given.image, edges),
        permute(editor, kernel, [1, 0, *range(2, 2 + given.rank)]),
        given.bias,
        tuple(slides),
        False,
        1,
    )


class _Phase:
    """One axis of a transposed convolution of which every so many places are wanted.

    Place j is the sum over i of image[i] * means[r * j - i], where means[m] is that of the window
    which begins at tap m * stride + pad, and r the number of elements from one to the next.
    """

    def __init__(self, slide: Slide, window: Window) -> None:
        ahead = window.width - 1 + slide.pad
        first = -(ahead // slide.stride)
        last = (slide.taps - 1 - slide.pad) // slide.stride
        self.taps = last - first + 1
        self.stride = window.step // slide.stride
        start, end = first * slide.stride + slide.pad, last * slide.stride + slide.pad
        self.kernel_edges = (-start, end + window.width - slide.taps)
        over = slide.taps - 2 * slide.pad + slide.more - window.width
        self.image_edges = (last, over // slide.stride - first)


def _work(editor: Editor, given: Convolution, shape: Sequence[Extent]) -> int:
    """Multiplications; those with what lies in the gaps of a transposed one are not done."""
    kernel = editor.kind(given.weight).shape
    inputs = kernel[0].value if given.transposed else kernel[1].value
    gaps = prod(slide.stride for slide in given.slides) if given.transposed else 1
    taps = prod(slide.taps for slide in given.slides)
    return product(shape).value * inputs // (given.groups if given.transposed else 1) * taps // gaps
