"""Rewrite: products of several matrices in the order that takes the fewest multiplications.

With a bias between: `(x @ a + c) @ b` is `x @ (a @ b) + c @ b`.
"""

from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise, view
from kernelmill.generators.composer.passes.editor import Editor, edited
from kernelmill.generators.composer.passes.sizes import ONE, is_one

_LEAST_GAIN = 1.5
"""Of multiplications, at the shown shape."""
_SAME_ORDER = ("view", "_unsafe_view", "reshape", "clone", "alias")


def associate(graph: Graph) -> Graph:
    """Until nothing is left to do: every step takes fewer multiplications."""
    while (other := edited(graph, _instead)) is not graph:
        graph = other
    return graph


class _Product(NamedTuple):
    left: Reference
    right: Reference
    bias: Reference | None


def _instead(editor: Editor, node: Node) -> Reference | None:
    outer = _read(node)
    if outer is None:
        return None
    made = _product_last(editor, outer) or _product_first(editor, outer)
    if made is None or outer.bias is None:
        return made
    return pointwise(editor, "add", made, outer.bias)


def _read(node: Node | None) -> _Product | None:
    if node is None or node.keywords:
        return None
    if node.op in ("mm", "bmm"):
        return _Product(node.arguments[0], node.arguments[1], None)
    if node.op in ("addmm", "baddbmm") and len(node.arguments) == 3:
        return _Product(node.arguments[1], node.arguments[2], node.arguments[0])
    return None


def _product_last(editor: Editor, outer: _Product) -> Reference | None:
    """`x @ (a @ b)` for `(x @ a) @ b`."""
    inner = _beneath(editor, outer.left)
    if inner is None or not _is_row(editor, inner.bias):
        return None
    rows, depth, middle, columns = _sizes(editor, inner.left, inner.right, outer.right)
    now = rows * middle * (depth + columns)
    if now < _LEAST_GAIN * depth * columns * (rows + middle):
        return None
    made = matrix_product(editor, inner.left, matrix_product(editor, inner.right, outer.right))
    if inner.bias is None:
        return made
    row = view(editor, inner.bias, [ONE, editor.kind(inner.bias).shape[-1]])
    return pointwise(editor, "add", made, matrix_product(editor, row, outer.right))


def _product_first(editor: Editor, outer: _Product) -> Reference | None:
    """`(x @ a) @ b` for `x @ (a @ b)`."""
    inner = _beneath(editor, outer.right) or _beneath_transposed(editor, outer.right)
    if inner is None or inner.bias is not None:
        return None
    rows, depth, middle, columns = _sizes(editor, outer.left, inner.left, inner.right)
    now = depth * columns * (rows + middle)
    if now < _LEAST_GAIN * rows * middle * (depth + columns):
        return None
    return matrix_product(editor, matrix_product(editor, outer.left, inner.left), inner.right)


def _beneath(editor: Editor, value: Reference) -> _Product | None:
    """The product that a matrix is, where nobody else needs it."""
    shape, node = editor.kind(value).shape, editor.producer(value)
    while node is not None and editor.uses(value) == 1 and node.op in _SAME_ORDER:
        value = node.arguments[0]
        node = editor.producer(value)
    if node is None or editor.uses(value) > 1 or node.results[0].shape != shape:
        return None
    return _read(node)


def _beneath_transposed(editor: Editor, value: Reference) -> _Product | None:
    """The product whose transposed a matrix is, as a product of transposed ones."""
    node, rank = editor.producer(value), len(editor.kind(value).shape)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    if node is None or editor.uses(value) > 1 or node.op != "permute":
        return None
    if [axis % rank for axis in node.arguments[1]] != swapped:
        return None
    inner = _beneath(editor, node.arguments[0])
    if inner is None or inner.bias is not None:
        return None
    left, right = (permute(editor, one, swapped) for one in (inner.right, inner.left))
    return _Product(left, right, None)


def _is_row(editor: Editor, bias: Reference | None) -> bool:
    """Whether a bias is the same in every row."""
    if bias is None:
        return True
    shape = editor.kind(bias).shape
    return len(shape) == 1 or (len(shape) == 2 and is_one(shape[0]) and not is_one(shape[1]))


def _sizes(editor: Editor, first: Reference, second: Reference, third: Reference) -> list[int]:
    """At the shown shape: rows, depth, middle, columns."""
    one, other, last = (editor.kind(matrix).shape for matrix in (first, second, third))
    return [one[-2].value, one[-1].value, other[-1].value, last[-1].value]
