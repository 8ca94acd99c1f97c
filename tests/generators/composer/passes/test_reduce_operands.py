"""Sums and means of what linear operators make, from reduced operands."""

from math import prod
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from generators.composer.passes.making import Making, assert_same, places
from kernelmill.generators.composer.ir.graph import Extent, Graph, Reference
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.calls import (
    matrix_product,
    permute,
    pointwise,
    reduced,
    view,
)
from kernelmill.generators.composer.passes.convolutions import Convolution, Slide, convolved
from kernelmill.generators.composer.passes.reduce_operands import reduce_operands
from kernelmill.generators.composer.passes.sizes import elements, fixed

_slides = st.builds(
    Slide,
    taps=st.integers(1, 4),
    stride=st.integers(1, 3),
    pad=st.integers(0, 2),
    dilation=st.integers(1, 2),
    more=st.just(0),
)


class Case(NamedTuple):
    """A convolution, what follows it, and the axes of a mean or a sum."""

    slides: list[Slide]
    transposed: bool
    channels: tuple[int, int]
    symbolic: bool
    bias: bool
    chain: list[str]
    axes: list[int]
    mean: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 3))
    transposed = draw(st.booleans())
    slides = [draw(_slides) for _ in range(rank)]
    if transposed:
        slides = [
            s._replace(more=draw(st.integers(0, max(s.stride, s.dilation) - 1))) for s in slides
        ]
    else:
        slides = [s._replace(stride=1) for s in slides]
    every = list(range(2 + rank))
    axes = draw(st.sampled_from([every[2:], every[2:3], every[1:2], every[1:], every, every[3:]]))
    steps = st.sampled_from(["double", "shift", "scale", "divide", "negate", "residual"])
    return Case(
        slides, transposed, draw(st.sampled_from([(3, 5), (1, 4), (4, 1)])), draw(st.booleans()),
        draw(st.booleans()), draw(st.lists(steps, max_size=3)), axes or every[2:],
        draw(st.booleans()),
    )  # fmt: skip


def _convolution_graph(case: Case, size: int) -> Graph:
    making = Making()
    inputs, outputs = case.channels
    sizes: list[int | str] = [
        f"s{axis}={size + axis}" if case.symbolic else size + axis
        for axis in range(len(case.slides))
    ]
    image = making.source(["s9=2" if case.symbolic else 2, inputs, *sizes])
    taps = [slide.taps for slide in case.slides]
    both = (inputs, outputs) if case.transposed else (outputs, inputs)
    weight = making.source([*both, *taps], state=True)
    bias = making.source([outputs], state=True) if case.bias else None
    scale = making.source([outputs, *[1] * len(taps)], state=True)
    row = making.source([sizes[-1]])
    editor = making.editor
    images, _, *before = editor.kind(image).shape
    after = [
        places(extent, slide, case.transposed)
        for extent, slide in zip(before, case.slides, strict=True)
    ]
    shape = [images, Extent(str(outputs), outputs), *after]
    convolution = Convolution(image, weight, bias, tuple(case.slides), case.transposed, 1)
    value = convolved(editor, convolution, shape)
    for step in case.chain:
        value = _followed(making, value, step, scale, row)
    return making.finished(reduced(editor, value, case.axes, case.mean))


def _followed(
    making: Making, value: Reference, step: str, scale: Reference, row: Reference
) -> Reference:
    editor = making.editor
    match step:
        case "double":
            return pointwise(editor, "mul", value, 2.0)
        case "shift":
            return pointwise(editor, "add", value, 1.5)
        case "scale":
            return pointwise(editor, "mul", scale, value)
        case "divide":
            return pointwise(editor, "div", value, 3.0)
        case "negate":
            return editor.call("neg", [value], editor.kind(value))
    same = editor.kind(row).shape[-1] == editor.kind(value).shape[-1]
    return pointwise(editor, "sub", value, row if same else scale)


def _works(case: Case, sizes: list[int]) -> bool:
    """Whether the convolution has any results for images of such sizes."""
    return all(
        places(fixed(size), slide, case.transposed).value > 0
        for size, slide in zip(sizes, case.slides, strict=True)
    )


@given(cases(), st.integers(3, 6), st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_means_of_convolutions(case: Case, size: int, hidden: int) -> None:
    assume(_works(case, [size + axis for axis in range(len(case.slides))]))
    graph = _convolution_graph(case, size)
    other_sizes = {f"s{axis}": hidden + axis % 2 for axis in range(len(case.slides))}
    works = _works(case, list(other_sizes.values()))
    varied = [{"s9": 1}, {"s9": 3, **other_sizes}] if works else [{"s9": 1}]
    assert_same(graph, reduce_operands(graph), varied if case.symbolic else [])


def _work(graph: Graph) -> int:
    """Of products and convolutions: results times depth."""
    kinds = {Reference(s.name): s.kind for s in graph.sources}
    total = 0
    for node in graph.nodes:
        kinds[Reference(node.name)] = node.results[0]
        if node.op in ("mm", "bmm", "convolution"):
            operand = kinds[node.arguments[1]].shape
            depth = operand[-2:-1] if node.op != "convolution" else operand[1:]
            total += elements(node.results[0]) * prod(extent.value for extent in depth)
    return total


def test_the_mean_of_a_transposed_convolution_is_a_product() -> None:
    slides = [Slide(3, 2, 1, 1, 1)] * 2
    case = Case(slides, True, (4, 6), True, True, ["double"], [2, 3], True)
    graph = _convolution_graph(case, 20)
    other = reduce_operands(graph)
    assert _work(graph) > 100 * _work(other)
    assert_same(graph, other, [{"s0": 2, "s1": 1}])


@pytest.mark.parametrize("axes", [[1], [2], [1, 2]])
@pytest.mark.parametrize("mean", [True, False])
def test_means_of_a_linear_layer(axes: list[int], mean: bool) -> None:
    """Of three axes, which become two for the product; behind it a bias and a scalar."""
    making = Making()
    image, weight, bias = (
        making.source(["s0=4", 3, 32]), making.source([24, 32], True), making.source([24], True)
    )  # fmt: skip
    editor = making.editor
    images = editor.kind(image).shape[0]
    rows = view(editor, image, [product([images, fixed(3)]), fixed(32)])
    made = matrix_product(editor, rows, permute(editor, weight, [1, 0]))
    value = pointwise(editor, "add", view(editor, made, [images, fixed(3), fixed(24)]), bias)
    value = pointwise(editor, "div", value, 2.0)
    graph = making.finished(reduced(editor, value, axes, mean))
    other = reduce_operands(graph)
    assert (_work(other) < _work(graph) / 8) == (2 in axes)
    assert_same(graph, other, [{"s0": 1}])


@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1, 2]])
def test_means_of_products_of_many_matrices(axes: list[int]) -> None:
    making = Making()
    left, right = making.source([3, "s0=7", 5]), making.source([3, 5, 6])
    graph = making.finished(
        reduced(making.editor, matrix_product(making.editor, left, right), axes, mean=True)
    )
    other = reduce_operands(graph)
    assert (other is graph) == (axes == [0])
    assert_same(graph, other, [{"s0": 1}])


def test_what_is_needed_as_a_whole_stays() -> None:
    making = Making()
    left, right = making.source([7, 5]), making.source([5, 6])
    whole = matrix_product(making.editor, left, right)
    mean = reduced(making.editor, whole, [1], mean=True)
    graph = making.finished(pointwise(making.editor, "sub", whole, mean))
    assert reduce_operands(graph) is graph


def test_the_mean_of_a_mean_is_reduced_in_two_steps() -> None:
    """The product that comes of the places stands before the mean of channels."""
    case = Case([Slide(3, 1, 0, 1, 0)] * 2, False, (4, 6), True, True, [], [1, 2, 3], False)
    graph = _convolution_graph(case, 8)
    other = reduce_operands(graph)
    assert {node.results[0].shape[-1].code for node in other.nodes if node.op == "mm"} == {"s9"}
    assert_same(graph, other, [{"s9": 1}])
