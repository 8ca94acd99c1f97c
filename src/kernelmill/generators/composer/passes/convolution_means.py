"""Means of convolutions, from sums of the image.

Along an axis of the image a tap of the kernel meets all elements but a few at the ends. So the sum
of a convolution over its places is a sum over taps of weight times the sum of what the tap meets;
taps that meet the same share one sum, and their weights are added up before.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Extent, Node, Reference
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.averaging import Averaging
from kernelmill.generators.composer.passes.calls import (
    cut,
    joined,
    matrix_product,
    permute,
    pointwise,
    reduced,
    sliced,
    view,
    with_joined_axes,
)
from kernelmill.generators.composer.passes.convolutions import (
    Convolution,
    Cut,
    convolved,
    read_convolution,
)
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.means import means
from kernelmill.generators.composer.passes.sizes import (
    ONE,
    argument,
    at_least,
    at_most,
    longer,
)
from kernelmill.generators.composer.passes.window_means import window_mean


@means("convolution")
def _of_convolution(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    given = read_convolution(editor, node)
    if given is None:
        return None
    windows = {axis: window for axis, window in averaging.items() if window is not None}
    if windows:
        along_places = windows.keys() == averaging.keys() and min(windows) >= 2
        return window_mean(editor, given, node, windows) if along_places else None
    return _whole_mean(editor, given, node, averaging) if given.groups == 1 else None


def _whole_mean(
    editor: Editor, given: Convolution, node: Node, averaging: Averaging
) -> Reference | None:
    places = sorted(axis for axis in averaging if axis >= 2)
    found = _over_places(editor, given, node, places) if places else None
    if found is not None:
        done = places
    elif 1 in averaging:
        found, done = _over_channels(editor, given, node), [1]
    else:
        return None
    return reduced(editor, found, sorted(averaging.keys() - set(done)), mean=True)


def _over_channels(editor: Editor, given: Convolution, node: Node) -> Reference:
    """A convolution to one channel, with the mean of the weights."""
    weight = reduced(editor, given.weight, [1 if given.transposed else 0], mean=True)
    bias = None if given.bias is None else reduced(editor, given.bias, [0], mean=True)
    images, _, *places = node.results[0].shape
    return convolved(editor, given._replace(weight=weight, bias=bias), [images, ONE, *places])


def _over_places(
    editor: Editor, given: Convolution, node: Node, axes: Sequence[int]
) -> Reference | None:
    """The sums become channels of a convolution along the other axes, or of a product."""
    taps = _taps_along(editor, given, axes)
    if taps is None:
        return None
    whole = node.results[0].shape
    others = [axis for axis in range(2, 2 + given.rank) if axis not in axes]
    less = given._replace(
        image=_image_sums(editor, given, taps, others),
        weight=_weight_sums(editor, given, taps, others),
        bias=None,
        slides=tuple(given.slides[axis - 2] for axis in others),
    )
    total = _applied(editor, less, [whole[axis] for axis in (0, 1, *others)])
    mean = pointwise(editor, "div", total, argument(product([whole[axis] for axis in axes])))
    mean = view(editor, mean, [ONE if axis in axes else size for axis, size in enumerate(whole)])
    if given.bias is None:
        return mean
    bias = view(editor, given.bias, [whole[1], *[ONE] * given.rank])
    return pointwise(editor, "add", mean, bias)


def _applied(editor: Editor, given: Convolution, shape: Sequence[Extent]) -> Reference:
    if given.slides:
        return convolved(editor, given, shape)
    weight = given.weight if given.transposed else permute(editor, given.weight, [1, 0])
    return matrix_product(editor, given.image, weight)


class _Taps(NamedTuple):
    """Neighbouring taps of a kernel that meet the same part of the image."""

    met: Cut
    in_kernel: Cut


_TapsOf = Mapping[int, Sequence[_Taps]]
"""By axis."""


def _taps_along(editor: Editor, given: Convolution, axes: Sequence[int]) -> _TapsOf | None:
    """None where a tap skips elements, or meets none at all."""
    found = {}
    for axis in axes:
        slide, size = given.slides[axis - 2], editor.kind(given.image).shape[axis].value
        if slide.stride > 1 and not given.transposed:
            return None
        cuts = slide.transposed_cuts() if given.transposed else slide.cuts()
        if any(sum(one) >= size for one in cuts):
            return None
        found[axis] = _grouped(cuts)
    return found


def _grouped(cuts: Sequence[Cut]) -> list[_Taps]:
    found, first = [], 0
    for met, same in groupby(cuts):
        end = first + len(list(same))
        found.append(_Taps(met, Cut(first, len(cuts) - end)))
        first = end
    return found


def _image_sums(
    editor: Editor, given: Convolution, taps: _TapsOf, others: Sequence[int]
) -> Reference:
    parts = {axis: [tap.met for tap in some] for axis, some in taps.items()}
    least = {axis: given.slides[axis - 2].least_size(given.transposed) for axis in taps}
    sums = _sums(editor, given.image, parts, least)
    return with_joined_axes(editor, sums, [[0], [1, *taps], *([axis] for axis in others)])


def _weight_sums(
    editor: Editor, given: Convolution, taps: _TapsOf, others: Sequence[int]
) -> Reference:
    kernel = editor.kind(given.weight).shape
    shares = {
        axis: [tap.in_kernel for tap in some]
        for axis, some in taps.items()
        if len(some) < kernel[axis].value
    }
    sums = _sums(editor, given.weight, shares, {axis: kernel[axis].value for axis in shares})
    first = [[0, *taps], [1]] if given.transposed else [[0], [1, *taps]]
    return with_joined_axes(editor, sums, [*first, *([axis] for axis in others)])


def _sums(
    editor: Editor,
    value: Reference,
    parts: Mapping[int, Sequence[Cut]],
    least: Mapping[int, int],
) -> Reference:
    """Along every axis, the sums of its parts side by side; axes with a single part at once."""
    whole = {axis for axis, cuts in parts.items() if len(cuts) == 1 and not any(cuts[0])}
    value = reduced(editor, value, sorted(whole), mean=False)
    for axis in sorted(parts.keys() - whole):
        sums = [_sum_of_part(editor, value, axis, part, least[axis]) for part in parts[axis]]
        value = joined(editor, sums, axis)
    return value


def _sum_of_part(editor: Editor, value: Reference, axis: int, part: Cut, least: int) -> Reference:
    """The sum of what a cut leaves, of an axis that has so many elements at least."""
    size = editor.kind(value).shape[axis]
    if size.fixed or least > sum(part):
        return reduced(editor, cut(editor, value, axis, *part), [axis], mean=False)
    left = longer(size, -sum(part))
    start = at_most(longer(size, -1), part.front)
    some = sliced(editor, value, axis, start, at_least(left, 1))  # no target knows empty sums
    total = reduced(editor, some, [axis], mean=False)
    return pointwise(editor, "mul", total, argument(at_most(at_least(left, 0), 1)))
