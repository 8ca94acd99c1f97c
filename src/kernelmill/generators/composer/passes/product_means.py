"""Averages of matrix products, from averages of rows and of columns."""

from kernelmill.generators.composer.ir.graph import Node, Reference
from kernelmill.generators.composer.passes.averaging import Averaging, averaged
from kernelmill.generators.composer.passes.calls import matrix_product, permute, pointwise
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.means import means
from kernelmill.generators.composer.passes.sizes import is_one


@means("mm", "bmm")
def _of_product(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    left, right = node.arguments
    rank = len(node.results[0].shape)
    rows, columns = rank - 2, rank - 1
    if rows not in averaging and columns not in averaging:
        return None
    if rows in averaging:
        left = averaged(editor, left, {rows: averaging[rows]})
    if columns in averaging:
        right = averaged(editor, right, {columns: averaging[columns]})
    single = is_one(editor.kind(right).shape[columns])
    made = (_dots if single else matrix_product)(editor, left, right)
    return averaged(editor, made, {axis: w for axis, w in averaging.items() if axis < rows})


def _dots(editor: Editor, left: Reference, column: Reference) -> Reference:
    """The product with a matrix of a single column, as that of a single row: every target has a
    way of its own with few rows."""
    rank = len(editor.kind(column).shape)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    row = permute(editor, column, swapped)
    return permute(editor, matrix_product(editor, row, permute(editor, left, swapped)), swapped)


@means("addmm", "baddbmm")
def _of_product_plus(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    if len(node.arguments) > 3 or node.keywords:
        return None
    bias, left, right = node.arguments
    kind = node.results[0]
    plain = Node("", "mm" if len(kind.shape) == 2 else "bmm", [left, right], {}, (kind,))
    mean = _of_product(editor, plain, averaging)
    if mean is None:
        return None
    sizes = editor.kind(bias).shape
    missing = len(kind.shape) - len(sizes)
    own = {
        axis - missing: window
        for axis, window in averaging.items()
        if axis >= missing and not is_one(sizes[axis - missing])
    }
    return pointwise(editor, "add", mean, averaged(editor, bias, own))
