"""Iteration over the depth of a convolution: tap by tap, and channel by channel through each."""

from collections.abc import Sequence
from math import gcd, prod
from typing import Any, NamedTuple

from kernelmill.generators.composer.ir.expressions import Expression, Plain, apply, expression
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Index, Joint, add, div, mul, sub, unravel
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import extent as extent_for
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import Buffer, ContractForm, Value, View, Window
from kernelmill.generators.composer.targets.triton.scope import Scope

_LEAST_CHANNELS = 16
"""Fewer do not fill the depth of a tile."""


class Walk:
    """The taps of a window that meet a tile of outputs.

    A transposed convolution has phases: outputs a step of the input apart meet the same taps, and
    only those, so a program takes outputs of one phase.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self._moves = window.moves
        self._sizes = [Extent(str(m.kernel), m.kernel) for m in self._moves]
        self.channels = Extent(str(window.channels), window.channels)
        self.phases: int = prod(move.up for move in self._moves)
        self.count = prod(move.kernel for move in self._moves)

    @classmethod
    def through(cls, form: ContractForm) -> "Walk | None":
        """None where there are too few channels, or no window."""
        window = form.window
        if window is None or window.channels < _LEAST_CHANNELS:
            return None
        return cls(window)

    @property
    def taps(self) -> str:
        """How many there are, in the kernel."""
        if self.phases == 1:
            return str(self.count)
        return " * ".join(extent.code for extent in self.tap_extents())

    @property
    def places(self) -> list[Extent]:
        """Sizes of the output in one phase."""
        found = []
        for extent, move in zip(self.window.places, self._moves, strict=True):
            value = -(-extent.value // move.up)
            padded = apply(Operator.SIZE_DIV, add(size(extent), move.up - 1), move.up)
            whole = expression(value) if extent.fixed else padded
            found.append(extent if move.up == 1 else extent_for(whole, value))
        return found

    def outputs(self, places: Sequence[Expression]) -> list[Expression]:
        """Where in the output the places of a phase are."""
        return [
            place if move.up == 1 else add(mul(place, move.up), f"phase{axis}")
            for axis, (place, move) in enumerate(zip(places, self._moves, strict=True))
        ]

    def doubtful(self, outputs: Sequence[Expression]) -> list[tuple[Expression, Extent]]:
        """Those that may lie beyond the output: phases are padded to the same size."""
        return [
            (place, extent)
            for place, extent, move in zip(outputs, self.window.places, self._moves, strict=True)
            if move.up > 1 and not (extent.fixed and extent.value % move.up == 0)
        ]

    def depth(self, channel: Plain) -> Joint:
        """A channel and the tap of this step, as a place in the depth of the contraction."""
        taps = self.numbers(unravel("tap", self.tap_extents()))
        return Joint.of([channel, *taps], [self.channels, *self._sizes])

    def numbers(self, taps: Sequence[Expression]) -> list[Expression]:
        """Which taps of the window those of a phase are."""
        return [
            tap if move.up == 1 else add(f"first{axis}", tap * _step(move))
            for axis, (tap, move) in enumerate(zip(taps, self._moves, strict=True))
        ]

    def distances(self, taps: Sequence[Expression], borders: Sequence[int]) -> list[Expression]:
        """How far from a place the taps of a phase are, in an input that has a border before it."""
        found = []
        for axis, (tap, move, border) in enumerate(zip(taps, self._moves, borders, strict=True)):
            if move.up == 1:
                found.append(mul(tap, move.dilation))
                continue
            shift = border * move.up - move.pad
            reached = add(f"phase{axis}", expression(f"first{axis}") * move.dilation)
            first = div(reached + shift, move.up)
            found.append(add(first, mul(tap, _step(move) * move.dilation // move.up)))
        return found

    def reach(self, borders: Sequence[int]) -> list[Extent]:
        """How much of such an input windows meet."""
        found = []
        for extent, move, border in zip(self.places, self._moves, borders, strict=True):
            last = (move.up - 1 + (move.kernel - 1) * move.dilation
                    + border * move.up - move.pad) // move.up  # fmt: skip
            value = (extent.value - 1) * move.stride + last + 1
            wide = add(mul(sub(size(extent), 1), move.stride), last + 1)
            found.append(extent_for(wide, value))
        return found

    def phase_lines(self, scope: Scope) -> list[str]:
        """Which phase a program has; the first of its taps, and how many there are."""
        if self.phases == 1:
            return []
        lines = [f"phase = pid % {self.phases}", f"pid = pid // {self.phases}"]
        ups = [Extent(str(move.up), move.up) for move in self._moves]
        for axis, (place, move) in enumerate(zip(unravel("phase", ups), self._moves, strict=True)):
            if move.up == 1:
                continue
            shared, step = gcd(move.dilation, move.up), _step(move)
            inverse = pow(move.dilation // shared, -1, step) if step > 1 else 0
            lines += [
                f"phase{axis} = {scope.write(place).code}",
                f"distance{axis} = {move.pad % move.up + move.up} - phase{axis}",
                f"first{axis} = distance{axis} // {shared} * {inverse} % {step}",
                f"taps{axis} = tl.cdiv({move.kernel} - first{axis}, {step})",
            ]
            if shared > 1:
                lines.append(
                    f"taps{axis} = tl.where(distance{axis} % {shared} == 0, taps{axis}, 0)"
                )
        return lines

    def tap_extents(self) -> list[Extent]:
        """How many taps a place meets along each axis."""
        return [
            size if move.up == 1 else Extent(f"taps{axis}", -(-move.kernel // move.up))
            for axis, (size, move) in enumerate(zip(self._sizes, self._moves, strict=True))
        ]


def _step(move: Any) -> int:
    return int(move.up) // gcd(move.dilation, move.up)


class _Copy(NamedTuple):
    value: Value
    copy: View
    first: bool
    """Whether channels are its second axis behind the rows of a weight."""


class Turned:
    """Copies of operands in which channels are neighbours, one for every operand."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy] = {}

    def of(self, value: Value, first: bool) -> View:
        """The copy to store: [taps..., rows, channels] of weights, [image, places..., channels]."""
        if id(value) not in self._copies:
            lead, channels, *rest = value.shape
            if first:
                shape = [*rest, lead, channels]
                copy = View(value, shape, lambda i: Index([i[-2], i[-1], *i.parts[:-2]]))
            else:
                shape = [lead, *rest, channels]
                copy = View(value, shape, lambda i: Index([i[0], i[-1], *i.parts[1:-1]]))
            self._copies[id(value)] = _Copy(value, copy, first)
        return self._copies[id(value)].copy

    def back(self, value: Value, stored: Buffer) -> View:
        """The operand, read from its copy."""
        if self._copies[id(value)].first:
            return View(stored, value.shape, lambda i: Index([*i.parts[2:], i[0], i[1]]))
        return View(stored, value.shape, lambda i: Index([i[0], *i.parts[2:], i[1]]))
