"""Of products and convolutions, only what is used is computed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.composer.passes.making import Making, assert_same
from kernelmill.generators.composer.ir.graph import Reference, TensorSpec
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise, view
from kernelmill.generators.composer.passes.convolutions import Convolution, Slide, convolved
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.sizes import ONE, fixed
from kernelmill.generators.composer.passes.slice_operands import slice_operands


def _sliced(editor: Editor, value: Reference, axis: int, start: int, step: int) -> Reference:
    """Up to two behind the start."""
    kind = editor.kind(value)
    shape = list(kind.shape)
    shape[axis] = fixed(len(range(start, start + 2, step)))
    arguments = [value, axis, start, start + 2, step]
    return editor.call("slice.Tensor", arguments, TensorSpec(kind.dtype, tuple(shape)))


def _selected(editor: Editor, value: Reference, axis: int, place: int) -> Reference:
    kind = editor.kind(value)
    shape = (*kind.shape[:axis], *kind.shape[axis + 1 :])
    return editor.call("select.int", [value, axis, place], TensorSpec(kind.dtype, shape))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_parts_of_products(data: st.DataObject) -> None:
    """Behind them operators on single elements, other axes' softmax, and views."""
    draw = data.draw
    making = Making()
    left, right = making.source([4, "s0=5", 6]), making.source([4, 6, 8])
    row, column = making.source([8]), making.source([8 if draw(st.booleans()) else 1, 1])
    editor = making.editor
    value = matrix_product(editor, left, right)
    axis = draw(st.integers(0, 2))
    for step in draw(
        st.lists(st.sampled_from(["row", "relu", "softmax", "turn", "view"]), max_size=3)
    ):
        kind = editor.kind(value)
        if step == "row":
            value = pointwise(editor, "add", value, row if kind.shape[-1].code == "8" else column)
        elif step == "relu":
            value = editor.call("relu", [value], kind)
        elif step == "softmax":
            value = editor.call("_softmax", [value, draw(st.integers(0, 2)), False], kind)
        elif step == "turn":
            value = permute(editor, value, [0, 2, 1])
        else:
            value = view(editor, view(editor, value, [*kind.shape, ONE]), kind.shape)
    if editor.kind(value).shape[axis].value == 1 or not editor.kind(value).shape[axis].fixed:
        axis = 0
    if draw(st.booleans()):
        value = _selected(editor, value, axis, draw(st.sampled_from([0, 1, -1, -2])))
    else:
        value = _sliced(editor, value, axis, draw(st.integers(0, 2)), draw(st.integers(1, 2)))
    graph = making.finished(value)
    assert_same(graph, slice_operands(graph))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("transposed", [True, False])
def test_channels_of_a_convolution(axis: int, transposed: bool) -> None:
    making = Making()
    image, bias = making.source([5, 3, "s0=9"]), making.source([12], True)
    weight = making.source([3, 12, 1] if transposed else [12, 3, 1], True)
    editor = making.editor
    given_ = Convolution(image, weight, bias, (Slide(1, 1, 0, 1, 0),), transposed, 1)
    value = convolved(editor, given_, [fixed(5), fixed(12), editor.kind(image).shape[2]])
    graph = making.finished(_sliced(editor, value, axis, 1, 1))
    other = slice_operands(graph)
    (convolution,) = (node for node in other.nodes if node.op == "convolution")
    assert convolution.results[0].shape[axis].code == "2"
    assert_same(graph, other, [{"s0": 4}])


def test_the_last_row_of_a_linear_layer() -> None:
    making = Making()
    left, right, bias = making.source([7, 5]), making.source([5, 6]), making.source([6])
    editor = making.editor
    kind = TensorSpec("float32", (fixed(7), fixed(6)))
    value = editor.call("addmm", [bias, left, right], kind)
    graph = making.finished(_selected(editor, value, 0, -1))
    other = slice_operands(graph)
    assert [node.op for node in other.nodes] == ["slice.Tensor", "addmm", "view"]
    assert_same(graph, other)


def test_a_slice_that_leaves_out_little_stays() -> None:
    making = Making()
    left, right = making.source([2, 5]), making.source([5, 2])
    value = matrix_product(making.editor, left, right)
    graph = making.finished(_sliced(making.editor, value, 0, 0, 1))
    assert slice_operands(graph) is graph
