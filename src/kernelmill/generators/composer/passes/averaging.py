"""Averages along axes: of all elements, or of the elements of windows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Extent, Reference, TensorSpec
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.calls import permute, reduced, view
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.sizes import ONE, is_one, longer, quotient


class Window(NamedTuple):
    """Windows along one axis."""

    width: int
    step: int
    places: Extent
    """How many there are."""

    @property
    def single(self) -> bool:
        return self.width == self.step == 1


def windows_of(width: int, step: int, size: Extent) -> Window:
    """As many as fit into a size."""
    return Window(width, step, longer(quotient(longer(size, -width), step), 1))


Averaging = Mapping[int, Window | None]
"""What is averaged along which axes: windows, or everything. The axes stay."""

_MOST_AXES = 3
"""Of average pooling."""


def effective(averaging: Averaging, shape: Sequence[Extent]) -> Averaging:
    """Without axes along which there is one element to average."""
    return {
        axis: window
        for axis, window in averaging.items()
        if not (is_one(shape[axis]) if window is None else window.single)
    }


def averaged(editor: Editor, value: Reference, averaging: Averaging) -> Reference:
    """The averages themselves."""
    whole = [axis for axis, window in averaging.items() if window is None]
    windows = {axis: window for axis, window in averaging.items() if window is not None}
    value = reduced(editor, value, whole, mean=True)
    return (
        _pooled(editor, value, windows) if effective(windows, editor.kind(value).shape) else value
    )


def _pooled(editor: Editor, value: Reference, windows: Mapping[int, Window]) -> Reference:
    node, kind = editor.producer(value), editor.kind(value)
    if node is not None and node.op == "permute":  # as it lies in memory
        source, order = node.arguments[0], [axis % len(kind.shape) for axis in node.arguments[1]]
        inner = _pooled(editor, source, {order[axis]: w for axis, w in windows.items()})
        return permute(editor, inner, order)
    first, last = min(windows), max(windows)
    before, after = kind.shape[:first], kind.shape[last + 1 :]
    sizes = [*kind.shape[first : last + 1], *([product(after)] if after else [])]
    every = [windows.get(axis, Window(1, 1, size)) for axis, size in enumerate(sizes, first)]
    if len(every) > _MOST_AXES:  # one axis after the other is the same
        for axis, window in windows.items():
            value = _pooled(editor, value, {axis: window})
        return value
    places = [window.places for window in every]
    lead = before if len(before) == 2 else (product(before), ONE)
    pooled = editor.call(
        f"avg_pool{len(every)}d",
        [view(editor, value, [*lead, *sizes]), [w.width for w in every], [w.step for w in every]],
        TensorSpec(kind.dtype, (*lead, *places)),
    )
    return view(editor, pooled, [*before, *places[: last + 1 - first], *after])
