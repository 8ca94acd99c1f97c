"""The archive of a task as a page shows it: islands, their behaviour cells, how they fill."""

from typing import Any, NamedTuple

from kernelmill.archive import Archive, Cell, Elite
from kernelmill.records.campaign import Campaign
from kernelmill.report.curves import Curve, CurvePoint
from kernelmill.web.reading import rows
from kernelmill.workspace import Workspace

HEATS = 5
"""Shades of a map, from the slowest owner to the fastest."""


class MapCell(NamedTuple):
    """A behaviour cell of an island that a kernel has reached."""

    island: int
    cell: Cell
    owner: Elite | None
    """None where its last owner failed in a later measurement."""
    entered: int | None
    """Number of the attempt at which the owner came in."""
    kernels: int
    """Kernels that were made on this island and passed in this cell; a migrant is none of them."""
    heat: int
    """Speed of the owner among all owners of the task, from 0 to HEATS - 1."""

    @property
    def name(self) -> str:
        return ".".join(map(str, self.cell))


class IslandMap(NamedTuple):
    number: int
    cells: tuple[MapCell, ...]

    @property
    def owned(self) -> int:
        return sum(cell.owner is not None for cell in self.cells)


class ArchiveMap(NamedTuple):
    islands: tuple[IslandMap, ...]
    reached: tuple[Curve, ...]
    """Cells that were reached over the attempts, by island."""
    operators: list[dict[str, Any]]

    @property
    def cells(self) -> list[MapCell]:
        """All cells, the fastest owner first."""
        every = [cell for island in self.islands for cell in island.cells]
        return sorted(every, key=lambda one: -one.owner.fitness.level if one.owner else 99.0)


def archive_map(workspace: Workspace, campaign: Campaign, task: int) -> ArchiveMap:
    key = {"campaign": campaign.id, "task": task}
    contents = rows(workspace, "cell_contents", **key)
    entries = rows(workspace, "cell_owners", **key)
    cells = _cells(Archive(workspace.database, campaign.id, task).elites(), contents, entries)
    numbers = sorted({cell.island for cell in cells})
    return ArchiveMap(
        tuple(IslandMap(n, tuple(one for one in cells if one.island == n)) for n in numbers),
        tuple(_reached(contents, number) for number in numbers),
        rows(workspace, "operator_outcomes", **key),
    )


def _cells(
    elites: list[Elite], contents: list[dict[str, Any]], entries: list[dict[str, Any]]
) -> list[MapCell]:
    owners = {(one.island, one.cell): one for one in elites}
    entered = {(row["island"], Cell.parse(row["cell"])): row["entered"] for row in entries}
    kernels = {(row["island"], Cell.parse(row["cell"])): row["kernels"] for row in contents}
    levels = sorted(one.fitness.level for one in elites)
    return [
        MapCell(
            island,
            cell,
            owners.get((island, cell)),
            entered.get((island, cell)),
            kernels.get((island, cell), 0),
            _heat(owners.get((island, cell)), levels),
        )
        for island, cell in sorted(owners.keys() | kernels.keys())
    ]


def _heat(owner: Elite | None, levels: list[float]) -> int:
    """By rank: one very slow kernel must not make all others look alike."""
    if owner is None:
        return 0
    rank = levels.index(owner.fitness.level) / max(1, len(levels) - 1)
    return HEATS - 1 if len(levels) == 1 else round((HEATS - 1) * rank)


def _reached(contents: list[dict[str, Any]], island: int) -> Curve:
    first = sorted(row["first"] for row in contents if row["island"] == island)
    points = [CurvePoint(0.0, 0.0)]
    for count, number in enumerate(first, start=1):
        points += [CurvePoint(number, count - 1.0), CurvePoint(number, float(count))]
    if contents:
        points.append(CurvePoint(max(row["last"] for row in contents), points[-1].y))
    return Curve(f"island {island}", tuple(points))
