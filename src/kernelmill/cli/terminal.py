"""Where output goes."""

from rich.console import Console

_LEAST_COLUMNS = 120
"""What the tables need; a pipe or a log has no width of its own."""


def wide_console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=max(_LEAST_COLUMNS, console.width))
