"""`kernelmill backend`: backends of your own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernelmill.backends.scaffolding import scaffold
from kernelmill.cli.terminal import wide_console

app = typer.Typer(no_args_is_help=True, help="Backends: start one of your own.")


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="What to call it: small letters, digits, _.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to put it; kernelmill-NAME by default.")
    ] = None,
) -> None:
    """Write a package with a backend that works, its guide, an example and a conformance test."""
    place = folder or Path(f"kernelmill-{name}")
    written = scaffold(name, place)
    lines = (
        *(str(path) for path in written),
        "",
        f"now: cd {place} && pip install -e '.[test]' && pytest",
    )
    wide_console().print("\n".join(map(escape, lines)), highlight=False, soft_wrap=True)
