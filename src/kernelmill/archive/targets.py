"""Target cells: the neighbour of a parent's cell that earlier moves make promising."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.archive.behaviour import Cell, axes_of
from kernelmill.archive.elites import Elite, Offspring

_BONUS = 0.1
"""Gain expected of a direction that was never tried."""


class Target(NamedTuple):
    cell: Cell
    axis: str
    text: str
    """What it takes to get there, for a prompt."""


class Direction(NamedTuple):
    axis: str
    step: int


def choose_target(
    parent: Elite, elites: Sequence[Elite], offspring: Sequence[Offspring], backend: str
) -> Target | None:
    """The most promising neighbour that is empty or slower than the parent; None without any."""
    owners = {one.cell: one for one in elites if one.island == parent.island}
    axes = axes_of(backend)
    best: tuple[float, Target] | None = None
    for direction, worth in directions(offspring).items():
        cell = parent.cell.moved(*direction)
        owner = None if cell is None else owners.get(cell)
        if cell is None or (owner is not None and owner.fitness.is_faster(parent.fitness)):
            continue
        axis = axes[direction.axis]
        text = axis.more if direction.step > 0 else axis.less
        if best is None or worth > best[0]:
            best = worth, Target(cell, direction.axis, text)
    return None if best is None else best[1]


def directions(offspring: Sequence[Offspring]) -> dict[Direction, float]:
    """Mean gain of moves along each axis, with a bonus for those that are little tried."""
    gains: dict[Direction, list[float]] = {
        Direction(axis, step): [] for axis in Cell._fields for step in (-1, 1)
    }
    for one in offspring:
        if one.gain is None or one.cell is None or one.parent_cell is None:
            continue
        before, after = Cell.parse(one.parent_cell), Cell.parse(one.cell)
        for axis in Cell._fields:
            change = getattr(after, axis) - getattr(before, axis)
            if change:
                gains[Direction(axis, 1 if change > 0 else -1)].append(one.gain)
    return {
        direction: math.fsum(some) / (1 + len(some)) + _BONUS / math.sqrt(1 + len(some))
        for direction, some in gains.items()
    }
