"""Blocking: the grid of a kernel, and the blocks of its tensors."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.axes import Axes, Place
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Convolution,
    Fold,
    Number,
    Product,
    Scan,
    Tensor,
)

_TARGET = 3 << 20
"""Bytes of VMEM that change from step to step: more does not help, and code grows with them."""
_LIMIT = 72 << 20
"""Bytes that no chip has too few of."""
_STEPS = 8
"""With fewer steps hardly anything overlaps."""
_SMALL = 1 << 19
"""Bytes that are not worth several steps."""
_PRODUCT_ROWS = 128
"""Fewer are not worth loading the matrix unit for."""
_RECOMPUTED = 1 << 22
"""Multiplications that may be done again in every step."""
LANES, SUBLANES = 128, 8


class Unfit(Exception):
    """These tensors make no kernel."""


class GridAxis(NamedTuple):
    place: Place
    block: int
    """At most; the whole axis where that is not longer."""
    accumulated: bool
    """Whether it is folded away step by step."""


class Blocks(NamedTuple):
    """What a kernel reads, computes and writes, and its grid: accumulated axes last."""

    inputs: tuple[Tensor, ...]
    tensors: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    axes: Axes
    grid: tuple[GridAxis, ...]
    late: frozenset[int]
    """The tensors that are known only after the last step."""

    def grid_axis(self, place: Place | None) -> int | None:
        """The number of the grid's axis along which a tensor's axis is cut."""
        for number, axis in enumerate(self.grid):
            if axis.place == place:
                return number
        return None


def cut(
    tensors: Sequence[Tensor], inputs: Sequence[Tensor], outputs: Sequence[Tensor], plan: Plan
) -> Blocks:
    """The best grid there is for these tensors. Raises Unfit where several are better apart."""
    axes = Axes(tensors)
    cutter = _Cutter(tensors, inputs, outputs, axes)
    free, folded = cutter.free(), cutter.foldable()
    chosen = cutter.blocks(free)
    if folded and plan.depth == "auto":
        if not free or cutter.cost(chosen) > _LIMIT:
            chosen = cutter.blocks([*free, *folded])
    elif folded and plan.depth != "whole":
        chosen |= {place: int(plan.depth) for place in folded}
    if len(tensors) > 1 and cutter.cost(chosen) > _LIMIT:
        raise Unfit
    chosen |= _decided(free, plan)
    accumulated = [place for place in folded if place in chosen]
    ordered = [place for place in free if place in chosen]
    if len(tensors) > 1:
        cutter.check_recomputed(ordered)
    if len(ordered) > 1 and plan.order == "columns":
        ordered.reverse()
    grid = [GridAxis(place, chosen[place], False) for place in ordered]
    grid += [GridAxis(place, chosen[place], True) for place in accumulated]
    late = cutter.late(accumulated)
    return Blocks(tuple(inputs), tuple(tensors), tuple(outputs), axes, tuple(grid), late)


def _decided(free: Sequence[Place], plan: Plan) -> dict[Place, int]:
    """What was decided for the first two free axes."""
    sizes = zip(free, ("rows", "columns"), strict=False)
    chosen = {place: getattr(plan, name) for place, name in sizes}
    return {place: int(size) for place, size in chosen.items() if size != "auto"}


class _Cutter:
    def __init__(
        self,
        tensors: Sequence[Tensor],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        axes: Axes,
    ) -> None:
        self._tensors, self._inputs, self._outputs, self._axes = tensors, inputs, outputs, axes
        self._units = self._tile_units()

    def _tile_units(self) -> dict[Place, int]:
        units: dict[Place, int] = {}
        for tensor in (*self._inputs, *self._outputs):
            places = self._axes.of(tensor)
            for unit, place in ((LANES, places[-1:]), (SUBLANES, places[-2:-1])):
                for one in place:
                    if one is not None:
                        units[one] = max(units.get(one, 1), unit)
        return units

    def _ordered(self, wanted: Iterable[Place]) -> list[Place]:
        """As they come in the largest tensors, outermost first."""
        kept = set(wanted)
        largest = sorted((*self._outputs, *self._inputs), key=lambda t: -len(t.shape))
        found: list[Place] = []
        for tensor in largest:
            for place in self._axes.of(tensor):
                if place in kept and place not in found:
                    found.append(place)
        return found

    def free(self) -> list[Place]:
        """Axes that every output has, and that nothing needs whole."""
        shared: set[Place] | None = None
        for output in self._outputs:
            places = {place for place in self._axes.of(output) if place is not None}
            shared = places if shared is None else shared & places
        return self._ordered(
            place
            for place in shared or ()
            if not self._axes.is_whole(place) and not self._axes.is_folded(place)
        )

    def foldable(self) -> list[Place]:
        """Axes that may be folded step by step, all in the same steps.

        Nothing behind the folds has them, and no fold waits for another.
        """
        places = {
            place
            for tensor in self._tensors
            for source in tensor.inputs
            for place in self._axes.of(source)
            if place is not None
        }
        candidates = self._ordered(
            place
            for place in places
            if self._axes.is_folded(place)
            and not self._axes.is_whole(place)
            and self._may_accumulate(place)
        )
        together: list[Place] = []
        for place in candidates:
            if not self._waits([*together, place]):
                together.append(place)
        return together

    def _waits(self, accumulated: Sequence[Place]) -> bool:
        """Whether folding along one of these axes needs what another fold leaves at the end."""
        late = self.late(accumulated)
        return any(
            accumulates(tensor, self._axes, accumulated)
            and any(id(source) in late for source in tensor.inputs)
            for tensor in self._tensors
        )

    def _may_accumulate(self, place: Place) -> bool:
        late = self.late([place])
        return all(
            place not in self._axes.of(tensor) for tensor in self._tensors if id(tensor) in late
        ) and all(place not in self._axes.of(output) for output in self._outputs)

    def late(self, accumulated: Sequence[Place]) -> frozenset[int]:
        """The tensors that are known only when these axes are folded."""
        late: set[int] = set()
        for tensor in self._tensors:
            if any(id(source) in late for source in tensor.inputs) or accumulates(
                tensor, self._axes, accumulated
            ):
                late.add(id(tensor))
        return frozenset(late)

    def blocks(self, places: Sequence[Place]) -> dict[Place, int]:
        """Blocks along these axes: what changes from step to step is small, and all of it fits."""
        rows = [self._axes.of(t)[-2] for t in self._tensors if isinstance(t, Product)]
        least = {p: max(self._units.get(p, 1), _PRODUCT_ROWS * (p in rows)) for p in places}
        chosen = self._halved({}, least, lambda blocks: self._flows(blocks, places))
        least = {place: self._units.get(place, 1) for place in places}
        return self._halved(chosen, least, lambda blocks: self.cost(blocks) <= _LIMIT)

    def _halved(
        self,
        chosen: dict[Place, int],
        least: dict[Place, int],
        enough: Callable[[dict[Place, int]], bool],
    ) -> dict[Place, int]:
        """From outside in, until it is enough."""
        chosen = dict(chosen)
        for place, unit in least.items():
            size = chosen.get(place, self._axes.extent(place).value)
            while size > unit and not enough(chosen):
                size = _next_smaller(size, unit)
                chosen[place] = size
        return chosen

    def _flows(self, chosen: dict[Place, int], places: Sequence[Place]) -> bool:
        steps = 1
        for place, size in chosen.items():
            steps *= -(-self._axes.extent(place).value // size)
        changing = self.cost(chosen, places)
        return changing <= _TARGET and (steps >= _STEPS or changing <= _SMALL)

    def cost(self, chosen: dict[Place, int], along: Sequence[Place] = ()) -> int:
        """Bytes of VMEM: every operand twice, and a few of the largest values in between.

        With `along` only of what is cut along one of these axes.
        """

        def some(tensors: Iterable[Tensor]) -> list[Tensor]:
            return [t for t in tensors if not along or {*along} & {*self._axes.of(t)}]

        moved = sum(2 * self._bytes(t, chosen) for t in some((*self._inputs, *self._outputs)))
        made = sorted((self._bytes(t, chosen) for t in some(self._tensors)), reverse=True)
        return moved + sum(made[:3])

    def _bytes(self, tensor: Tensor, chosen: dict[Place, int]) -> int:
        if isinstance(tensor, Number):
            return 0
        sizes = [
            min(chosen.get(place, extent.value), extent.value) if place is not None else 1
            for place, extent in zip(self._axes.of(tensor), tensor.shape, strict=True)
        ]
        sizes = [1] * (2 - len(sizes)) + sizes
        sizes[-1] = -(-sizes[-1] // LANES) * LANES
        sizes[-2] = -(-sizes[-2] // SUBLANES) * SUBLANES
        count = 4
        for size in sizes:
            count *= size
        return count

    def check_recomputed(self, cut_along: Sequence[Place]) -> None:
        """Nothing that takes long may be the same in several steps."""
        for tensor in self._tensors:
            missing = [place for place in cut_along if place not in self._axes.of(tensor)]
            if (
                missing
                and isinstance(tensor, Product | Convolution | Scan)
                and _work(tensor) > _RECOMPUTED
            ):
                raise Unfit


def _next_smaller(size: int, unit: int) -> int:
    """About half: tiles by a power of two, so that blocks fit the matrix unit."""
    tiles = -(-size // unit)
    return unit * (1 << (tiles - 1).bit_length() - 1) if unit > 1 else -(-size // 2)


def accumulates(tensor: Tensor, axes: Axes, accumulated: Sequence[Place]) -> bool:
    """Whether a tensor is what some axes of the grid fold away."""
    if isinstance(tensor, Fold):
        source = axes.of(tensor.inputs[0])
        return any(source[axis] in accumulated for axis in tensor.axes)
    if isinstance(tensor, Product):
        return axes.of(tensor.inputs[0])[-1] in accumulated
    return False


def _work(tensor: Tensor) -> int:
    work = tensor.inputs[0].shape[-1].value if not isinstance(tensor, Broadcast) else 1
    for extent in tensor.shape:
        work *= extent.value
    return work
