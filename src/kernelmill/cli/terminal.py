"""The console that commands print to, and tables that lose no text on it."""

import os
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelmill.report.tables import WIDE


def wide_console() -> Console:
    """A console as wide as the terminal, or as COLUMNS says; a pipe or a file is wide enough for
    every table."""
    console = Console()
    return console if _has_width(console) else Console(width=max(WIDE, console.width))


def print_prose(console: Console, text: str) -> None:
    """Sentences, whose lines are broken between words; in a pipe or a file they are not broken."""
    console.print(text, highlight=False, markup=False, soft_wrap=not _has_width(console))


def _has_width(console: Console) -> bool:
    return console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()


def folding_table(*columns: str, **options: Any) -> Table:
    """A table that breaks long words, so that names and paths can be copied from it; headings are
    broken between words only."""
    table = Table(**options)
    for name in columns:
        table.add_column(name, overflow="fold", min_width=max(map(len, name.split())))
    return table
