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
    if console.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return console
    return Console(width=max(WIDE, console.width))


def folding_table(*columns: str, **options: Any) -> Table:
    """A table that breaks long words, so that names and paths can be copied from it; headings are
    broken between words only."""
    table = Table(**options)
    for name in columns:
        table.add_column(name, overflow="fold", min_width=max(map(len, name.split())))
    return table
