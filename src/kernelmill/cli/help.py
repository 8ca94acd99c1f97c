"""Help texts of groups of commands."""

import inspect
from typing import Any

from typer.core import TyperGroup


class CommandList(TyperGroup):
    """A group whose help has the whole first sentence of each command, over several lines if need
    be; the default cuts it at the width of the terminal."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _first_sentence(one.help)) for name, one in commands if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _first_sentence(text: str | None) -> str:
    first_paragraph = inspect.cleandoc(text or "").partition("\n\n")[0]
    sentence, dot, _ = " ".join(first_paragraph.split()).partition(". ")
    return f"{sentence}{dot.strip()}"
