"""Tables that fit the width of a terminal: they leave out columns rather than cut words."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

_GAP = 2
"""Characters between two columns."""
_LEAST_FLEXIBLE = 10
_MOST_FLEXIBLE = 24
"""The longest word that a flexible column makes room for; a longer one is folded."""


class Column(NamedTuple):
    name: str
    justify: Literal["left", "right"] = "left"
    rank: int = 0
    """0: it is always shown. The column with the highest rank is left out first."""
    flexible: bool = False
    """Whether its text may be broken between words, and a very long word within."""


def fitting_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, **options: Any
) -> Table:
    """A table of the columns that fit into this width; a caption names those left out.

    Cells may hold markup and several lines. A column that may be left out is, where it is empty.
    """
    kept = [
        number
        for number, column in enumerate(columns)
        if column.rank == 0 or not rows or any(row[number] for row in rows)
    ]
    needed = [
        _needed(column, [row[number] for row in rows]) for number, column in enumerate(columns)
    ]
    left_out = []
    while sum(needed[n] for n in kept) + _GAP * (len(kept) - 1) > width:
        last = max(kept, key=lambda n: (columns[n].rank, n))
        if columns[last].rank == 0:
            break
        kept.remove(last)
        left_out.append(columns[last].name.replace("\n", " "))
    return _table(columns, rows, kept, left_out, options)


def _table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    left_out: Sequence[str],
    options: dict[str, Any],
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, **options)
    for number in kept:
        column = columns[number]
        table.add_column(
            column.name,
            justify=column.justify,
            overflow="fold",
            no_wrap=not column.flexible,
            min_width=max(map(cell_len, column.name.split())),
        )
    for row in rows:
        table.add_row(*(row[number] for number in kept))
    if left_out:
        table.caption = f"not shown at this width: {', '.join(reversed(left_out))}"
        table.caption_justify = "left"
    return table


def _needed(column: Column, cells: Sequence[str]) -> int:
    texts = [Text.from_markup(cell).plain for cell in cells]
    if not column.flexible:
        return max(cell_len(line) for text in (column.name, *texts) for line in text.split("\n"))
    words = [cell_len(word) for text in (column.name, *texts) for word in text.split()]
    return min(max(_LEAST_FLEXIBLE, *words), _MOST_FLEXIBLE)
