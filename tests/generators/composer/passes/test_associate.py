"""Products of several matrices in the cheaper order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.composer.passes.making import Making, assert_same
from kernelmill.generators.composer.ir.graph import Graph, TensorSpec
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.associate import associate
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise, view
from kernelmill.generators.composer.passes.sizes import elements, fixed

_sizes = st.integers(1, 40)


def _multiplications(graph: Graph) -> int:
    kinds = {source.name: source.kind for source in graph.sources}
    kinds |= {node.name: node.results[0] for node in graph.nodes}
    return sum(
        elements(node.results[0]) * kinds[node.arguments[0].node].shape[-1].value
        for node in graph.nodes
        if node.op in ("mm", "bmm")
    )


@given(
    st.tuples(_sizes, _sizes, _sizes, _sizes),
    st.sampled_from([[], [3]]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_chains_of_three(
    sizes: tuple[int, ...], batch: list[int], left_first: bool, transposed: bool
) -> None:
    rows, depth, middle, columns = sizes
    making = Making()
    a = making.source([*batch, f"s0={rows}", depth])
    b, c = making.source([*batch, depth, middle]), making.source([*batch, middle, columns])
    editor = making.editor
    swapped = [*range(len(batch)), len(batch) + 1, len(batch)]
    if left_first:
        made = matrix_product(editor, matrix_product(editor, a, b), c)
    elif transposed:
        other = matrix_product(editor, permute(editor, c, swapped), permute(editor, b, swapped))
        made = matrix_product(editor, a, permute(editor, other, swapped))
    else:
        made = matrix_product(editor, a, matrix_product(editor, b, c))
    graph = making.finished(made)
    other_graph = associate(graph)
    assert _multiplications(other_graph) <= _multiplications(graph)
    assert_same(graph, other_graph, [{"s0": 2}])


@pytest.mark.parametrize("through_views", [True, False])
def test_two_linear_layers_with_biases_become_one_product(through_views: bool) -> None:
    making = Making()
    image, first = making.source(["s0=64", 4, 16]), making.source([64, 16], True)
    bias, second, last = (
        making.source([64], True), making.source([8, 64], True), making.source([8], True)
    )  # fmt: skip
    editor = making.editor
    images = editor.kind(image).shape[0]
    rows = product([images, fixed(4)])

    def linear(value: object, weight: object, bias: object, size: int) -> object:
        kind = TensorSpec("float32", (rows, fixed(size)))
        return editor.call("addmm", [bias, value, permute(editor, weight, [1, 0])], kind)  # type: ignore[arg-type]

    value = linear(view(editor, image, [rows, fixed(16)]), first, bias, 64)
    if through_views:
        value = view(editor, value, [images, fixed(4), fixed(64)])  # type: ignore[arg-type]
        value = view(editor, value, [rows, fixed(64)])
    graph = making.finished(linear(value, second, last, 8))  # type: ignore[arg-type]
    other = associate(graph)
    assert max(elements(node.results[0]) for node in other.nodes) < 256 * 64
    assert_same(graph, other, [{"s0": 1}])


def test_a_product_that_is_used_twice_stays() -> None:
    making = Making()
    a, b, c = making.source([64, 4]), making.source([4, 64]), making.source([64, 64])
    inner = matrix_product(making.editor, a, b)
    graph = making.finished(
        pointwise(making.editor, "add", matrix_product(making.editor, inner, c), inner)
    )
    assert associate(graph) is graph
