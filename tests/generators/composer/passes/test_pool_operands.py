"""Average pooling of what linear operators make, from averages of their operands."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from generators.composer.passes.making import Making, assert_same, places
from kernelmill.generators.composer.ir.graph import Extent, Graph, Reference, TensorSpec
from kernelmill.generators.composer.passes.averaging import windows_of
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise, view
from kernelmill.generators.composer.passes.convolutions import Convolution, Slide, convolved
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.pool_operands import pool_operands
from kernelmill.generators.composer.passes.sizes import ONE, fixed


def _pooled(editor: Editor, value: Reference, width: int, step: int, axes: int) -> Reference:
    kind = editor.kind(value)
    sizes = kind.shape[len(kind.shape) - axes :]
    shape = (*kind.shape[:-axes], *(windows_of(width, step, size).places for size in sizes))
    arguments = [value, [width] * axes, *([[step] * axes] if step != width else [])]
    return editor.call(f"avg_pool{axes}d", arguments, TensorSpec(kind.dtype, shape))


def _graph(
    slides: list[Slide], transposed: bool, groups: int, sizes: list[int], width: int, step: int
) -> Graph | None:
    making = Making()
    image = making.source(["s9=2", 4, *(f"s{at}={size}" for at, size in enumerate(sizes))])
    taps = [slide.taps for slide in slides]
    inner = [4, 16 // groups] if transposed else [16, 4 // groups]
    weight, bias = making.source([*inner, *taps], True), making.source([16], True)
    scale = making.source([16, *[1] * len(slides)], True)
    editor = making.editor
    images, _, *before = editor.kind(image).shape
    after = [places(one, slide, transposed) for one, slide in zip(before, slides, strict=True)]
    if not all(size.value >= width for size in after):
        return None
    given = Convolution(image, weight, bias, tuple(slides), transposed, groups)
    value = convolved(editor, given, [images, Extent("16", 16), *after])
    value = pointwise(editor, "mul", value, scale)
    return making.finished(_pooled(editor, value, width, step, len(slides)))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_windows_of_convolutions(data: st.DataObject) -> None:
    draw = data.draw
    transposed, groups = draw(st.booleans()), draw(st.sampled_from([1, 1, 2]))
    slide = Slide(
        draw(st.integers(1, 5)), draw(st.integers(1, 2)) if transposed else 1,
        draw(st.integers(0, 2)), draw(st.sampled_from([1, 1, 2])), 0,
    )  # fmt: skip
    slides = [slide, slide._replace(taps=draw(st.integers(1, 3)))][: draw(st.integers(1, 2))]
    if transposed:
        slides = [s._replace(more=draw(st.integers(0, s.stride - 1))) for s in slides]
    # PyTorch crops more than a transposed window makes by a narrow of negative length.
    assume(not transposed or all(one.pad <= one.dilation * (one.taps - 1) for one in slides))
    width, step = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    graph = _graph(
        slides, transposed, groups, [draw(st.integers(5, 9)), 8][: len(slides)], width, step
    )
    assume(graph is not None)
    assert graph is not None
    assert_same(graph, pool_operands(graph), [{"s9": 1, "s0": 11}])


@pytest.mark.parametrize("transposed", [True, False])
def test_a_pooled_convolution_has_longer_steps(transposed: bool) -> None:
    slides = [Slide(3, 2 if transposed else 1, 1, 1, 0)] * 2
    graph = _graph(slides, transposed, 1, [12, 12], 2, 2)
    assert graph is not None
    other = pool_operands(graph)
    (convolution,) = (node for node in other.nodes if node.op == "convolution")
    assert convolution.arguments[3] == ([1, 1] if transposed else [2, 2])
    assert not convolution.arguments[6]
    assert convolution.results[0].shape == graph.nodes[-1].results[0].shape
    assert_same(graph, other, [{"s0": 7, "s1": 15}])


def test_pooled_columns_of_a_linear_layer() -> None:
    making = Making()
    image, weight = making.source(["s0=6", 32]), making.source([24, 32], True)
    bias = making.source([24], True)
    editor = making.editor
    made = matrix_product(editor, image, permute(editor, weight, [1, 0]))
    value = pointwise(editor, "add", made, bias)
    rows = editor.kind(image).shape[0]
    value = view(editor, view(editor, value, [rows, ONE, fixed(24)]), [rows, ONE, ONE, fixed(24)])
    kind = TensorSpec("float32", (rows, ONE, ONE, fixed(6)))
    graph = making.finished(editor.call("avg_pool2d", [value, [1, 4], [1, 4]], kind))
    other = pool_operands(graph)
    assert [node.results[0].shape[-1].code for node in other.nodes if node.op == "mm"] == ["6"]
    assert_same(graph, other, [{"s0": 1}])


def test_windows_that_hang_over_stay() -> None:
    making = Making()
    image, weight = making.source([2, 4, 9]), making.source([16, 4, 3], True)
    editor = making.editor
    given = Convolution(image, weight, None, (Slide(3, 1, 0, 1, 0),), False, 1)
    value = convolved(editor, given, [fixed(2), fixed(16), fixed(7)])
    kind = TensorSpec("float32", (fixed(2), fixed(16), fixed(4)))
    graph = making.finished(editor.call("avg_pool1d", [value, [2], [2], [0], True], kind))
    assert pool_operands(graph) is graph
