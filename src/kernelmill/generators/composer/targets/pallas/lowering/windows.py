"""Convolutions and pooling."""

from collections.abc import Sequence
from math import prod
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    extent_of,
    keyword,
    lowers,
    permute,
    pointwise,
    reshape,
)
from kernelmill.generators.composer.targets.pallas.tensors import (
    ONE,
    Convolution,
    Iota,
    Padded,
    Phased,
    Pool,
    Slide,
    Tensor,
)


def _spread(argument: Any, rank: int) -> list[int]:
    """One number for every axis."""
    given = argument if isinstance(argument, list) else [argument]
    return [int(given[axis % len(given)]) for axis in range(rank)]


def _slides(kernel: Sequence[int], stride: Any, pad: Any, dilation: Any) -> list[Slide]:
    rank = len(kernel)
    steps = kernel if stride in ([], None) else _spread(stride, rank)
    every = zip(kernel, steps, _spread(pad, rank), _spread(dilation, rank), strict=True)
    return [Slide(*one) for one in every]


def _larger(size: Extent, more: int) -> Extent:
    value = size.value + more
    return Extent(str(value) if size.fixed else f"({size.code}) + {more}", value)


@lowers("convolution")
def _convolution(lowering: Lowering, node: Node) -> Tensor:
    source, weight, bias, stride, pad, dilation, transposed, _more, groups = node.arguments
    image, kernel = lowering.value(source), lowering.value(weight)
    if not all(extent.fixed for extent in kernel.shape):
        raise Declined("aten.convolution whose kernel may have any size")
    slides = _slides([extent.value for extent in kernel.shape[2:]], stride, pad, dilation)
    shape = node.results[0].shape
    weights = _weights(kernel, int(groups), bool(transposed))
    if not transposed:
        image = _prepared(image, shape[2:], slides)
    result: Tensor = Convolution(image, weights, shape, slides, int(groups), bool(transposed))
    if bias is None:
        return result
    vector = lowering.value(bias)
    return pointwise("{0} + {1}", result, reshape(vector, [*vector.shape, *[ONE] * len(slides)]))


def _weights(kernel: Tensor, groups: int, transposed: bool) -> Tensor:
    """A matrix with a row for every output channel: [o, tap * channel of its group]."""
    taps = prod(extent.value for extent in kernel.shape[2:])
    rank = len(kernel.shape)
    if not transposed:
        rows = permute(kernel, [0, *range(2, rank), 1])
        width = extent_of(taps * kernel.shape[1].value)
        return reshape(rows, [kernel.shape[0], width])
    inputs, outputs = kernel.shape[0].value // groups, kernel.shape[1].value
    split = reshape(kernel, [extent_of(groups), extent_of(inputs), *kernel.shape[1:]])
    rows = permute(split, [0, 2, *range(3, rank + 1), 1])
    return reshape(rows, [extent_of(groups * outputs), extent_of(taps * inputs)])


def _prepared(image: Tensor, places: Sequence[Extent], slides: Sequence[Slide]) -> Tensor:
    """With its padding, and one line more: the last window of a flat image reaches beyond it."""
    lead, sizes = image.shape[:2], image.shape[2:]
    extra = [int(axis == 0 and len(slides) > 1) for axis in range(len(slides))]
    if all(slide.stride == 1 for slide in slides):
        edges = [(s.pad, s.pad + more) for s, more in zip(slides, extra, strict=True)]
        if not any(low or high for low, high in edges):
            return image
        padded = [_larger(size, sum(e)) for size, e in zip(sizes, edges, strict=True)]
        return Padded(image, [*lead, *padded], [(0, 0), (0, 0), *edges], "0.0")
    reach = [(s.kernel - 1) * s.dilation // s.stride for s in slides]
    steps = [
        _larger(place, more + one) for place, more, one in zip(places, reach, extra, strict=True)
    ]
    phases = extent_of(prod(slide.stride for slide in slides))
    return Phased(image, [lead[0], phases, lead[1], *steps], slides)


def _pool_slides(node: Node, dilation: Any) -> list[Slide]:
    kernel = node.arguments[1]
    stride, pad = keyword(node, 2, "stride", []), keyword(node, 3, "padding", 0)
    return _slides(_spread(kernel, len(kernel)), stride, pad, dilation)


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool2d")
def _max_pool(lowering: Lowering, node: Node) -> list[Tensor | None]:
    if keyword(node, 5, "ceil_mode", False):
        raise Declined(f"aten.{node.op} whose windows hang over")
    slides = _pool_slides(node, keyword(node, 4, "dilation", 1))
    tensor = lowering.value(node.arguments[0])
    return [Pool(tensor, node.results[0].shape, "max", slides), None]


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _average_pool(lowering: Lowering, node: Node) -> Tensor:
    if keyword(node, 4, "ceil_mode", False):
        raise Declined(f"aten.{node.op} whose windows hang over")
    slides = _pool_slides(node, 1)
    tensor = lowering.value(node.arguments[0])
    total = Pool(tensor, node.results[0].shape, "sum", slides)
    divisor = keyword(node, 6, "divisor_override")
    with_pad = bool(keyword(node, 5, "count_include_pad", True))
    if divisor is None and not with_pad and any(slide.pad for slide in slides):
        return _divided_by_reach(total, tensor, slides)
    area = divisor or prod(slide.kernel for slide in slides)
    return pointwise(f"{{0}} * (1.0 / {area})", total)


def _divided_by_reach(total: Tensor, source: Tensor, slides: Sequence[Slide]) -> Tensor:
    """By how much of each window lies inside the input."""
    lead = len(source.shape) - len(slides)
    for axis, slide in enumerate(slides, lead):
        place = Iota(total.shape, axis)
        start = f"({{1}} * {slide.stride} - {slide.pad})"
        end = f"jnp.minimum({start} + {slide.kernel}, {host(source.shape[axis].code)})"
        code = f"{{0}} / ({end} - jnp.maximum({start}, 0)).astype(jnp.float32)"
        total = pointwise(code, total, place)
    return total


@lowers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def _adaptive_pool(lowering: Lowering, node: Node) -> Tensor:
    rank = len(node.arguments[1])
    slides = [Slide(0, 0, 0, 0)] * rank
    tensor = lowering.value(node.arguments[0])
    return Pool(tensor, node.results[0].shape, "adaptive", slides)
