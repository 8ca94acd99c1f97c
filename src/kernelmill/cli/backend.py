"""`kernelmill backend`: which targets there are, the tool chains some need, one of your own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill.backends import backend_names, get_backend
from kernelmill.backends.base import Backend
from kernelmill.backends.scaffolding import scaffold
from kernelmill.cli.terminal import wide_console
from kernelmill.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="Targets and their tool chains: list, install, new.")


@app.command("list")
def list_() -> None:
    """Every backend: its chips, where it lies, and what it still needs."""
    table = Table("backend", "target", "chips", "ready")
    for name in backend_names():
        backend = get_backend(name)
        table.add_row(name, escape(backend.title), ", ".join(backend.chips), _readiness(backend))
    Console().print(table)


@app.command()
def install(
    name: Annotated[str, typer.Argument(help="The backend whose tool chain is wanted.")],
) -> None:
    """Make the environment a backend's tool chain lives in, or repair it. Needs the network."""
    environment = get_backend(name).environment
    console = Console()
    if environment is None:
        raise UsageError(f"backend {name} needs no environment: see `kernelmill doctor`")
    with console.status(f"installing {', '.join(environment.pins())}"):
        made = environment.install()
    done = "installed" if made else "was installed already, and is whole"
    console.print(f"{name}: {done}: {environment.folder}", highlight=False)


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


def _readiness(backend: Backend) -> str:
    remedies = dict.fromkeys(need.remedy for need in backend.requirements() if not need.found)
    return "[red]no[/red]: " + escape("; ".join(remedies)) if remedies else "[green]yes[/green]"
