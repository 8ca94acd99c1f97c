"""Rewrite: average pooling of what a linear operator makes, from averages of its operands.

An average-pooled convolution is a convolution with longer steps; average-pooled columns of a matrix
product are a product with average-pooled columns.
"""

from typing import Any

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.passes import (  # noqa: F401 - they register their rules
    convolution_means,
    product_means,
)
from kernelmill.generators.composer.passes.averaging import Averaging, Window
from kernelmill.generators.composer.passes.editor import Editor, edited, keyword
from kernelmill.generators.composer.passes.means import mean_of

_POOLS = ("avg_pool1d", "avg_pool2d", "avg_pool3d")


def pool_operands(graph: Graph) -> Graph:
    return edited(graph, _instead)


def _instead(editor: Editor, node: Node) -> Reference | None:
    averaging = _read_pooling(editor, node)
    return None if averaging is None else mean_of(editor, node.arguments[0], averaging)


def _read_pooling(editor: Editor, node: Node) -> Averaging | None:
    """Windows without padding, all of them whole."""
    if node.op not in _POOLS or not _is_plain(node):
        return None
    axes = int(node.op[-2])
    widths = _numbers(node.arguments[1], axes)
    given = keyword(node, 2, "stride", [])
    steps = _numbers(given, axes) if given else widths
    places = node.results[0].shape[-axes:]
    windows = zip(widths, steps, places, strict=True)
    first = len(node.results[0].shape) - axes
    return {axis: Window(*window) for axis, window in enumerate(windows, first)}


def _is_plain(node: Node) -> bool:
    pad, ceil = keyword(node, 3, "padding", 0), keyword(node, 4, "ceil_mode", False)
    return not any(_numbers(pad, 1)) and not ceil and keyword(node, 6, "divisor_override") is None


def _numbers(given: Any, count: int) -> list[int]:
    values = given if isinstance(given, list) else [given]
    return values if len(values) >= count else values * count
