"""Drawing of an island: one square per behaviour cell, four blocks of four along each side."""

from markupsafe import Markup

from kernelmill.archive import Cell
from kernelmill.archive.behaviour import LEVELS
from kernelmill.web.archive_map import IslandMap, MapCell

_SQUARE, _GAP, _MARGIN = 18, 8, 22
_BLOCK = LEVELS * _SQUARE + _GAP
_SIDE = LEVELS * _BLOCK - _GAP


def cell_grid(island: IslandMap) -> Markup:
    """Memory grows to the right from block to block and arithmetic upwards; within a block,
    parallelism and launches do."""
    size = _SIDE + 2 * _MARGIN
    known = {one.cell: one for one in island.cells}
    levels = range(LEVELS)
    squares = [
        _square(Cell(memory, arithmetic, parallelism, launches), known)
        for arithmetic in levels
        for memory in levels
        for launches in levels
        for parallelism in levels
    ]
    head = Markup('<svg viewBox="0 0 {0} {0}" width="{0}" height="{0}" aria-label="{1}">')
    return Markup("").join(
        [
            head.format(size, f"island {island.number}: {island.owned} cells have an owner"),
            *squares,
            _label(_MARGIN, size - 5, "more memory traffic →"),
            _label(-(size - _MARGIN), 14, "more arithmetic →", "upright"),
            Markup("</svg>"),
        ]
    )


def _square(cell: Cell, known: dict[Cell, MapCell]) -> Markup:
    x = _MARGIN + cell.memory * _BLOCK + cell.parallelism * _SQUARE
    y = _MARGIN + _SIDE - cell.arithmetic * _BLOCK - (cell.launches + 1) * _SQUARE
    one = known.get(cell)
    style = "empty" if one is None else "lost" if one.owner is None else f"heat{one.heat}"
    shape = Markup('<rect class="cell {}" x="{}" y="{}" width="{size}" height="{size}"/>')
    drawn = shape.format(style, x, y, size=_SQUARE - 2)
    if one is None or one.owner is None:
        return drawn
    link = Markup('<a href="/attempts/{0}" aria-label="{1}">{2}<title>{1}</title></a>')
    attempt, speed = one.owner.attempt, one.owner.fitness.speed
    return link.format(attempt, f"cell {one.name}: attempt {attempt}, {speed:.2f}x", drawn)


def _label(x: int, y: int, text: str, style: str = "") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(style, x, y, text)
