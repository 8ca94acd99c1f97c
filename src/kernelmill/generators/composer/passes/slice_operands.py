"""Rewrite: of what a product or a convolution makes, only what is used is computed.

A slice moves through operators on single elements, normalisations of other axes and views, to the
operands of the product.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kernelmill.generators.composer.ir.graph import Extent, Graph, Node, Reference, TensorSpec
from kernelmill.generators.composer.passes.calls import permute, view
from kernelmill.generators.composer.passes.editor import Editor, edited, keyword
from kernelmill.generators.composer.passes.means import kept_axes
from kernelmill.generators.composer.passes.sizes import ONE, is_one

_LARGEST_SHARE = 0.75
"""Of what is computed: to leave out less hardly pays."""
_END = (1 << 63) - 1
_POINTWISE = frozenset(
    """add sub mul div neg abs exp log sqrt rsqrt relu sigmoid tanh gelu silu leaky_relu elu clamp
    hardtanh hardswish hardsigmoid softplus erf square reciprocal pow maximum minimum""".split()
)


def slice_operands(graph: Graph) -> Graph:
    return edited(graph, _instead)


class Part(NamedTuple):
    """A slice of one axis, as its operator takes it."""

    axis: int
    start: Any
    end: Any
    step: Any
    size: Extent

    def along(self, axis: int) -> "Part":
        return self._replace(axis=axis)


Rule = Callable[[Editor, Node, Part], Reference | None]


def _instead(editor: Editor, node: Node) -> Reference | None:
    part = _read_part(editor, node)
    if part is None:
        return None
    found = _part_of(editor, node.arguments[0], part)
    return None if found is None else view(editor, found, node.results[0].shape)


def _read_part(editor: Editor, node: Node) -> Part | None:
    """A slice, or the selection of one place, that leaves out enough."""
    name = node.op.partition(".")[0]
    if name not in ("slice", "select"):
        return None
    whole = editor.kind(node.arguments[0]).shape
    axis = keyword(node, 1, "dim", 0) % len(whole)
    if name == "slice":
        start, end = keyword(node, 2, "start") or 0, keyword(node, 3, "end")
        part = Part(axis, start, end, keyword(node, 4, "step", 1), node.results[0].shape[axis])
    else:
        place = node.arguments[2]
        if not isinstance(place, int):
            return None
        part = Part(axis, place, _END if place == -1 else place + 1, 1, ONE)
    return part if part.size.value <= _LARGEST_SHARE * whole[axis].value else None


def _taken(editor: Editor, value: Any, part: Part) -> Any:
    """The part itself; of a number, or of one element repeated, everything."""
    if not isinstance(value, Reference) or part.axis < 0:
        return value
    kind = editor.kind(value)
    if is_one(kind.shape[part.axis]):
        return value
    shape = (*kind.shape[: part.axis], part.size, *kind.shape[part.axis + 1 :])
    arguments = [value, part.axis, part.start, part.end, part.step]
    return editor.call("slice.Tensor", arguments, TensorSpec(kind.dtype, shape))


def _part_of(editor: Editor, value: Any, part: Part) -> Reference | None:
    """A part of what a product or a convolution makes, from parts of operands; else None."""
    node = editor.producer(value)
    if node is None or editor.uses(value) > 1:
        return None
    rule = _RULES.get(node.op) or _RULES.get(node.op.partition(".")[0])
    return None if rule is None else rule(editor, node, part)


def _again(editor: Editor, node: Node, arguments: list[Any], part: Part) -> Reference:
    """The same operator on other operands."""
    kind = node.results[0]
    shape = (*kind.shape[: part.axis], part.size, *kind.shape[part.axis + 1 :])
    return editor.call(node.op, arguments, TensorSpec(kind.dtype, shape), **node.keywords)


def _of_pointwise(editor: Editor, node: Node, part: Part) -> Reference | None:
    rank = len(node.results[0].shape)
    found, linear = [], False
    for argument in node.arguments:
        other = argument
        if isinstance(argument, Reference):
            own = part.along(part.axis - rank + len(editor.kind(argument).shape))
            other = _part_of(editor, argument, own) if own.axis >= 0 else None
            linear = linear or other is not None
            other = _taken(editor, argument, own) if other is None else other
        found.append(other)
    return _again(editor, node, found, part) if linear else None


def _of_product(editor: Editor, node: Node, part: Part) -> Reference:
    *bias, left, right = node.arguments
    rank = len(node.results[0].shape)
    if part.axis != rank - 1:
        left = _taken(editor, left, part)
    if part.axis != rank - 2:
        right = _taken(editor, right, part)
    addends = [
        _taken(editor, one, part.along(part.axis - rank + len(editor.kind(one).shape)))
        for one in bias
    ]
    return _again(editor, node, [*addends, left, right], part)


def _of_convolution(editor: Editor, node: Node, part: Part) -> Reference | None:
    """Some of the images, or some of the channels."""
    image, weight, bias, *rest = node.arguments
    transposed, groups = rest[3], rest[5]
    if part.axis == 0:
        image = _taken(editor, image, part)
    elif part.axis == 1 and groups == 1:
        weight = _taken(editor, weight, part.along(1 if transposed else 0))
        bias = _taken(editor, bias, part.along(0))
    else:
        return None
    return _again(editor, node, [image, weight, bias, *rest], part)


def _of_softmax(editor: Editor, node: Node, part: Part) -> Reference | None:
    rank = len(node.results[0].shape)
    if node.arguments[1] % rank == part.axis:
        return None
    inner = _part_of(editor, node.arguments[0], part)
    return None if inner is None else _again(editor, node, [inner, *node.arguments[1:]], part)


def _of_view(editor: Editor, node: Node, part: Part) -> Reference | None:
    value, shape = node.arguments[0], node.results[0].shape
    places = kept_axes(editor.kind(value).shape, shape)
    if part.axis not in places:
        return None
    inner = _part_of(editor, value, part.along(places[part.axis]))
    if inner is None:
        return None
    return view(editor, inner, [*shape[: part.axis], part.size, *shape[part.axis + 1 :]])


def _of_permuted(editor: Editor, node: Node, part: Part) -> Reference | None:
    value, given = node.arguments
    order = [axis % len(given) for axis in given]
    inner = _part_of(editor, value, part.along(order[part.axis]))
    return None if inner is None else permute(editor, inner, order)


_VIEWS = ("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze")
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_POINTWISE, _of_pointwise),
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm"), _of_product),
    "convolution": _of_convolution,
    **dict.fromkeys(("_softmax", "_log_softmax"), _of_softmax),
    **dict.fromkeys(_VIEWS, _of_view),
    "permute": _of_permuted,
}
