"""Rewrite: sums and means of what a linear operator makes, from reduced operands.

The mean of a convolution over its places is a product of a few sums of the image with the weights;
the mean of a matrix product over its columns is a product with the mean column. Scalars, biases and
scales between the two are applied to the mean.
"""

from collections.abc import Sequence

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes import (  # noqa: F401 - they register their rules
    convolution_means,
    product_means,
)
from kernelmill.generators.composer.passes.calls import pointwise, view
from kernelmill.generators.composer.passes.editor import Editor, edited, keyword
from kernelmill.generators.composer.passes.means import mean_of
from kernelmill.generators.composer.passes.sizes import argument


def reduce_operands(graph: Graph) -> Graph:
    """Until nothing is left to do: the product that comes of one mean may stand before another."""
    while (other := edited(graph, _instead)) is not graph:
        graph = other
    return graph


def _instead(editor: Editor, node: Node) -> Reference | None:
    name = node.op.partition(".")[0]
    if name not in ("sum", "mean"):
        return None
    value = node.arguments[0]
    kind = editor.kind(value)
    if kind.dtype != node.results[0].dtype or "float" not in kind.dtype:
        return None
    axes = _axes(node, len(kind.shape))
    mean = mean_of(editor, value, dict.fromkeys(axes))
    if mean is None:
        return None
    if name == "sum":
        count = product([kind.shape[axis] for axis in axes])
        mean = pointwise(editor, "mul", mean, argument(count))
    return view(editor, mean, node.results[0].shape)


def _axes(node: Node, rank: int) -> Sequence[int]:
    given = keyword(node, 1, "dim")
    return sorted(axis % rank for axis in given) if given else range(rank)
