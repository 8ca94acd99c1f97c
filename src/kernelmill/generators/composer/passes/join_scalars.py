"""Rewrite: scalars through linear operators, and chains of scalars as one.

A factor moves behind a sum, a mean, a product or a convolution where there are fewer elements to
multiply. Then `(x * a) / b` is `x * (a / b)`, and `(x + a) - b` is `x + (a - b)`.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.passes.calls import pointwise
from kernelmill.generators.composer.passes.editor import Editor, edited
from kernelmill.generators.composer.passes.sizes import elements

_NORMAL = (1.2e-38, 3.3e38)
"""Magnitudes that are normal numbers of float32."""
_LARGEST_TERM = 1 << 16
"""To add a larger number and to subtract it again is a way to round."""


def join_scalars(graph: Graph) -> Graph:
    """Until nothing is left to do: a factor that moved may meet another."""
    while (other := edited(graph, _instead)) is not graph:
        graph = other
    return graph


class _Step(NamedTuple):
    """A number that a value is multiplied by, or that is added to it."""

    value: Reference
    number: float


def _instead(editor: Editor, node: Node) -> Reference | None:
    for read, op, join in ((_factor, "mul", operator.mul), (_term, "add", operator.add)):
        outer = read(editor, node)
        inner = _read_beneath(editor, outer.value, read) if outer else None
        if outer is None or inner is None:
            continue
        number = join(inner.number, outer.number)
        if (op, number) in (("mul", 1.0), ("add", 0.0)):
            return inner.value
        if _is_normal(number):
            return pointwise(editor, op, inner.value, number)
    return _behind(editor, node)


def _read_beneath(
    editor: Editor, value: Any, read: Callable[[Editor, Node], _Step | None]
) -> _Step | None:
    """What made a value that nobody else needs."""
    node = editor.producer(value)
    return None if node is None or editor.uses(value) > 1 else read(editor, node)


def _factor(editor: Editor, node: Node) -> _Step | None:
    name = node.op.partition(".")[0]
    if name not in ("mul", "div") or len(node.arguments) != 2 or node.keywords:
        return None
    left, right = node.arguments
    if name == "mul" and isinstance(right, Reference):
        left, right = right, left
    if not _is_step(editor, node, left, right) or right == 0:
        return None
    number = float(right) if name == "mul" else 1 / right
    return _Step(left, number) if _is_normal(number) else None


def _term(editor: Editor, node: Node) -> _Step | None:
    name = node.op.partition(".")[0]
    if name not in ("add", "sub") or len(node.arguments) != 2 or node.keywords:
        return None
    left, right = node.arguments
    if not _is_step(editor, node, left, right) or abs(right) > _LARGEST_TERM:
        return None
    return _Step(left, float(right) if name == "add" else -float(right))


def _is_step(editor: Editor, node: Node, value: Any, number: Any) -> bool:
    """Whether these are a tensor of the type of the result, and a number."""
    if not isinstance(value, Reference) or type(number) not in (int, float):
        return False
    dtype = editor.kind(value).dtype
    return dtype == node.results[0].dtype and "float" in dtype


def _is_normal(number: float) -> bool:
    return number == 0 or _NORMAL[0] <= abs(number) <= _NORMAL[1]


def _behind(editor: Editor, node: Node) -> Reference | None:
    """A linear operator first, then the factor, where there is less to multiply."""
    name, kind = node.op.partition(".")[0], node.results[0]
    linear = name in ("sum", "mean", "mm", "bmm")
    linear = linear or (name == "convolution" and node.arguments[2] is None)
    if not linear or node.keywords:
        return None
    operands = 2 if name in ("mm", "bmm", "convolution") else 1
    for at in range(operands):
        inner = _read_beneath(editor, node.arguments[at], _factor)
        if inner is None or elements(editor.kind(inner.value)) <= elements(kind):
            continue
        arguments = [*node.arguments[:at], inner.value, *node.arguments[at + 1 :]]
        return pointwise(editor, "mul", editor.call(node.op, arguments, kind), inner.number)
    return None
