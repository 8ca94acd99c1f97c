"""Averages of what a linear operator makes, from its operands.

A rule answers for one operator: the average of its result, as asked, from averages of what it is
made of; None where that would save nothing. Sums are means times a count, so that what is added to
every element is added to the average as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kernelmill.generators.composer.ir.graph import Extent, Node, Reference
from kernelmill.generators.composer.passes.averaging import Averaging, averaged, effective
from kernelmill.generators.composer.passes.calls import permute, pointwise, view
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.sizes import is_one

Rule = Callable[[Editor, Node, Averaging], Reference | None]
_RULES: dict[str, Rule] = {}


def means(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for operators of the given names: `add.Tensor`, or `add` for all forms."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def mean_of(editor: Editor, value: Any, averaging: Averaging) -> Reference | None:
    """The averages, if the value comes of a linear operator and nobody needs it as it is."""
    node = editor.producer(value)
    if node is None or editor.uses(value) > 1:
        return None
    asked = effective(averaging, editor.kind(value).shape)
    rule = _RULES.get(node.op) or _RULES.get(node.op.partition(".")[0])
    return None if rule is None or not asked else rule(editor, node, asked)


@means("add", "sub")
def _of_sum(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    if len(node.arguments) > 2 or node.keywords:
        return None
    parts = [_Operand(editor, argument, node) for argument in node.arguments]
    found = [part.linear_mean(averaging) for part in parts]
    if all(mean is None for mean in found):
        return None
    left, right = (
        part.plain_mean(averaging) if mean is None else mean
        for part, mean in zip(parts, found, strict=True)
    )
    return pointwise(editor, node.op.partition(".")[0], left, right)


@means("mul", "div.Tensor", "div.Scalar")
def _of_multiple(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    """By a factor that is the same for all that is averaged."""
    if len(node.arguments) > 2 or node.keywords:
        return None
    left, right = (_Operand(editor, argument, node) for argument in node.arguments)
    name = node.op.partition(".")[0]
    if not right.varies(averaging):
        mean = left.linear_mean(averaging)
        return None if mean is None else pointwise(editor, name, mean, right.argument)
    if name == "mul" and not left.varies(averaging):
        mean = right.linear_mean(averaging)
        return None if mean is None else pointwise(editor, name, left.argument, mean)
    return None


class _Operand:
    """One side of an operator on single elements."""

    def __init__(self, editor: Editor, argument: Any, node: Node) -> None:
        self.argument = argument
        self._editor = editor
        self._shape = editor.kind(argument).shape if isinstance(argument, Reference) else ()
        self._missing = len(node.results[0].shape) - len(self._shape)

    def _own(self, averaging: Averaging) -> Averaging:
        """Without axes along which it is one element repeated."""
        missing = self._missing
        own = {axis - missing: window for axis, window in averaging.items() if axis >= missing}
        return {axis: window for axis, window in own.items() if not is_one(self._shape[axis])}

    def varies(self, averaging: Averaging) -> bool:
        return bool(self._own(averaging))

    def linear_mean(self, averaging: Averaging) -> Reference | None:
        return mean_of(self._editor, self.argument, self._own(averaging))

    def plain_mean(self, averaging: Averaging) -> Any:
        own = self._own(averaging)
        return averaged(self._editor, self.argument, own) if own else self.argument


@means("neg")
def _of_negative(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    mean = mean_of(editor, node.arguments[0], averaging)
    return None if mean is None else editor.call("neg", [mean], editor.kind(mean))


@means("clone", "alias", "detach")
def _of_same(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    return mean_of(editor, node.arguments[0], averaging)


@means("permute")
def _of_permuted(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    value, given = node.arguments
    order = [axis % len(given) for axis in given]
    mean = mean_of(editor, value, {order[axis]: window for axis, window in averaging.items()})
    return None if mean is None else permute(editor, mean, order)


@means("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze")
def _of_view(editor: Editor, node: Node, averaging: Averaging) -> Reference | None:
    """Along axes that are the same in both shapes; what is left of the others comes behind."""
    value, shape = node.arguments[0], list(node.results[0].shape)
    places = kept_axes(editor.kind(value).shape, shape)
    inner = {places[axis]: window for axis, window in averaging.items() if axis in places}
    mean = mean_of(editor, value, inner)
    if mean is None:
        return None
    for axis in averaging.keys() & places.keys():
        shape[axis] = editor.kind(mean).shape[places[axis]]
    rest = {axis: window for axis, window in averaging.items() if axis not in places}
    return averaged(editor, view(editor, mean, shape), rest)


def kept_axes(before: Sequence[Extent], after: Sequence[Extent]) -> dict[int, int]:
    """Axes after a view that are axes before it: neither split nor joined."""
    short = min(len(before), len(after))
    places: dict[int, int] = {}
    for axis in range(short):
        if before[axis] != after[axis]:
            break
        places[axis] = axis
    for back in range(1, short + 1):
        if before[-back] != after[-back]:
            break
        places[len(after) - back] = len(before) - back
    return places
