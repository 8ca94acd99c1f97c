"""Common subexpressions, normalisation by running statistics, and diagonal matrices."""

import pytest
import torch

from generators.composer.passes.making import Making, assert_same
from kernelmill.generators.composer.ir.graph import TensorSpec
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise
from kernelmill.generators.composer.passes.scale_and_shift import scale_and_shift
from kernelmill.generators.composer.passes.scale_by_diagonal import scale_by_diagonal
from kernelmill.generators.composer.passes.share_equal import share_equal
from kernelmill.generators.composer.passes.sizes import fixed
from kernelmill.generators.composer.tracing.trace import trace_model


def test_equal_products_of_equal_views_are_computed_once() -> None:
    making = Making()
    left, right = making.source(["s0=4", 5]), making.source([6, 5])
    editor = making.editor
    first, second = (matrix_product(editor, left, permute(editor, right, [1, 0])) for _ in range(2))
    other = matrix_product(editor, left, permute(editor, left, [1, 0]))
    value = pointwise(editor, "mul", first, editor.call("relu", [second], editor.kind(second)))
    graph = making.finished(value, other)
    shared = share_equal(graph)
    assert sum(node.op == "mm" for node in shared.nodes) == 2
    assert_same(graph, shared, [{"s0": 1}])


def test_equal_views_alone_are_no_gain() -> None:
    making = Making()
    value = making.source([4, 4])
    turned = [permute(making.editor, value, [1, 0]) for _ in range(2)]
    graph = making.finished(matrix_product(making.editor, *turned))
    assert share_equal(graph) is graph


def test_equal_views_of_several_products_are_prepared_once() -> None:
    making = Making()
    value, weight = making.source([4, 4]), making.source([4, 4])
    for _ in range(3):
        turned = permute(making.editor, weight, [1, 0])
        value = matrix_product(making.editor, value, turned)
    graph = making.finished(value)
    shared = share_equal(graph)
    assert sum(node.op == "permute" for node in shared.nodes) == 1
    assert_same(graph, shared, [{}])


def test_random_numbers_are_not_shared() -> None:
    making = Making()
    value = making.source([4, 4])
    kind = making.editor.kind(value)
    drawn = [making.editor.call("rand_like", [value], kind) for _ in range(2)]
    graph = making.finished(pointwise(making.editor, "sub", *drawn))
    assert share_equal(graph) is graph


@pytest.mark.parametrize("sizes", [[7], [6, 5]])
@pytest.mark.parametrize("affine", [True, False])
def test_running_statistics_become_a_scale_and_a_shift(sizes: list[int], affine: bool) -> None:
    making = Making()
    value = making.source(["s0=3", 4, *sizes])
    weight, bias, mean, root = (making.source([4], True) for _ in range(4))
    editor = making.editor
    variance = pointwise(editor, "mul", root, root)
    none = TensorSpec("float32", (fixed(0),))
    node = editor.call_for_parts(
        "_native_batch_norm_legit_no_training",
        [value, weight if affine else None, bias if affine else None, mean, variance, 0.1, 1e-3],
        [editor.kind(value), none, none],
    )
    graph = making.finished(node)
    other = scale_and_shift(graph)
    assert not any("norm" in node.op for node in other.nodes)
    assert_same(graph, other, [{"s0": 1}])


class Diagonal(torch.nn.Module):
    """Products with diagonal matrices on either side, and with one that is none."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        size = x.shape[0]
        shifted = torch.where(torch.arange(1, size + 1) == torch.arange(size)[:, None], x, 0.0)
        return [torch.diag(x) @ y, y.mT @ torch.diag(x), shifted @ y]


def test_products_with_diagonal_matrices_are_scalings() -> None:
    with torch.no_grad():
        graph = trace_model(Diagonal(), [torch.randn(7), torch.randn(7, 5)])
    other = scale_by_diagonal(graph)
    assert sum(node.op == "mm" for node in other.nodes) == 1
    assert_same(graph, other, [dict.fromkeys(graph.symbols, 3), dict.fromkeys(graph.symbols, 1)])
