"""Rewrite: a product with a diagonal matrix is a scaling of rows, or of columns."""

from typing import Any

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.passes.calls import pointwise, view
from kernelmill.generators.composer.passes.editor import Editor, edited, keyword
from kernelmill.generators.composer.passes.sizes import ONE

_SAME = ("view", "_unsafe_view", "reshape", "clone", "alias", "expand")


def scale_by_diagonal(graph: Graph) -> Graph:
    return edited(graph, _instead)


def _instead(editor: Editor, node: Node) -> Reference | None:
    if node.op != "mm":
        return None
    left, right = node.arguments
    rows, columns = _diagonal(editor, left), _diagonal(editor, right)
    if rows is not None:
        return pointwise(editor, "mul", view(editor, rows, [*editor.kind(rows).shape, ONE]), right)
    return None if columns is None else pointwise(editor, "mul", left, columns)


def _diagonal(editor: Editor, value: Reference) -> Reference | None:
    """The diagonal of a matrix that was made of it: `where(row == column, diagonal, 0)`."""
    shape, node = editor.kind(value).shape, _made_of(editor, value)
    if node is None or node.op != "where.self" or shape[0] != shape[1]:
        return None
    condition, diagonal, zero = node.arguments
    if not _is_zero(editor, zero) or not _is_unity(editor, condition, shape):
        return None
    single = editor.kind(diagonal).shape in ((shape[0],), (ONE, shape[0]), (shape[0], ONE))
    return view(editor, diagonal, [shape[0]]) if single else None


def _made_of(editor: Editor, value: Any) -> Node | None:
    """What made a tensor, before views that leave its shape."""
    node = editor.producer(value)
    while node is not None and node.op in _SAME:
        before = node.arguments[0]
        if editor.kind(before).shape != node.results[0].shape:
            return None
        node = editor.producer(before)
    return node


def _is_zero(editor: Editor, value: Any) -> bool:
    node = editor.producer(value)
    if node is None:
        return type(value) in (int, float) and value == 0
    number = keyword(node, 1 if node.op == "full" else 0, "value")
    return node.op in ("full", "scalar_tensor") and number == 0


def _is_unity(editor: Editor, value: Any, shape: Any) -> bool:
    """Whether a condition holds where the row is the column."""
    node = _made_of(editor, value)
    if node is None or node.op != "eq.Tensor" or node.results[0].shape != shape:
        return False
    one, other = (_counted_axis(editor, argument) for argument in node.arguments)
    return {one, other} == {0, 1}


def _counted_axis(editor: Editor, value: Any) -> int | None:
    """The axis of a matrix along which this counts up from zero."""
    node = editor.producer(value)
    axis = 1
    if node is not None and node.op == "unsqueeze":
        axis = 1 if node.arguments[1] in (0, -2) else 0
        node = editor.producer(node.arguments[0])
    if node is None or node.op.partition(".")[0] != "arange":
        return None
    from_zero = len(node.arguments) == 1 or (len(node.arguments) == 2 and node.arguments[0] == 0)
    return axis if from_zero else None
