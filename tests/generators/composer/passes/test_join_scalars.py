"""Scalars through linear operators, and chains of scalars."""

from hypothesis import given, settings
from hypothesis import strategies as st

from generators.composer.passes.making import Making, assert_same
from kernelmill.generators.composer.ir.graph import Graph, Reference
from kernelmill.generators.composer.passes.calls import matrix_product, pointwise, reduced
from kernelmill.generators.composer.passes.join_scalars import join_scalars

_steps = st.tuples(
    st.sampled_from(["add", "sub", "mul", "div"]), st.sampled_from([0.3, 2, -1.5, 7.0, 1e-3])
)


@given(
    st.lists(_steps, min_size=1, max_size=5),
    st.sampled_from(["nothing", "sum", "mean", "product"]),
    st.lists(_steps, max_size=2),
)
@settings(max_examples=30, deadline=None)
def test_scalars_before_and_behind(
    before: list[tuple[str, float]], middle: str, behind: list[tuple[str, float]]
) -> None:
    making = Making()
    value, weight = making.source(["s0=5", 16]), making.source([16, 3], True)
    editor = making.editor
    for op, number in before:
        value = pointwise(editor, op, value, number)
    if middle == "product":
        value = matrix_product(editor, value, weight)
    elif middle != "nothing":
        value = reduced(editor, value, [1], mean=middle == "mean")
    for op, number in behind:
        value = pointwise(editor, op, value, number)
    graph = making.finished(value)
    other = join_scalars(graph)
    assert len(other.nodes) <= len(graph.nodes)
    assert_same(graph, other, [{"s0": 1}])


def _chain(*numbers: float) -> Graph:
    making = Making()
    value = making.source([4, 5])
    for number in numbers:
        value = pointwise(making.editor, "mul", value, number)
    return making.finished(value)


def test_factors_become_one() -> None:
    (node,) = join_scalars(_chain(2.0, 3.0, 0.5)).nodes
    assert node.arguments[1] == 3.0


def test_factors_that_cancel_vanish() -> None:
    graph = join_scalars(_chain(0.5, 2.0))
    assert not graph.nodes
    assert graph.outputs == (Reference("x0"),)


def test_factors_whose_product_is_no_normal_number_stay() -> None:
    graph = _chain(1e-30, 1e-30)
    assert join_scalars(graph) is graph


def test_a_factor_moves_behind_a_sum() -> None:
    making = Making()
    value = making.source(["s0=5", 64])
    doubled = pointwise(making.editor, "mul", value, 2.0)
    graph = join_scalars(making.finished(reduced(making.editor, doubled, [1], mean=False)))
    assert [node.op for node in graph.nodes] == ["sum.dim_IntList", "mul.Tensor"]
