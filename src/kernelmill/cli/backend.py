"""`kernelmill backend`: list backends, install their toolchains, create a new one."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kernelmill.backends import backend_names, get_backend
from kernelmill.backends.base import Backend
from kernelmill.backends.scaffolding import scaffold
from kernelmill.cli.help import CommandList
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.json_records import BackendLine
from kernelmill.cli.terminal import wide_console
from kernelmill.records.errors import UsageError
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.report.harvest import harvest

backend_app = typer.Typer(
    cls=CommandList,
    no_args_is_help=True,
    help="Backends and their toolchains: list, install, new, harvest.",
)
_BACKEND_COLUMNS = (
    Column("backend"),
    Column("target", rank=1, flexible=True),
    Column("chips", rank=2, flexible=True),
    Column("ready", flexible=True),
)
_REFUSAL_COLUMNS = (
    Column("backend"),
    Column("gate", rank=1),
    Column("refusal", flexible=True),
    Column("seen", "right"),
    Column("tasks", "right", 4),
    Column("cured", "right", 2),
    Column("in guide", rank=3),
)


@backend_app.command("list")
def list_backends(json: JsonOption = False) -> None:
    """List the backends with their chips, and what is missing to use them."""
    if json:
        print_json([_record(get_backend(name)) for name in backend_names()])
        return
    backends = [get_backend(name) for name in backend_names()]
    rows = [
        (one.name, escape(one.title), ", ".join(one.chips), _readiness(one)) for one in backends
    ]
    console = wide_console()
    console.print(fitting_table(_BACKEND_COLUMNS, rows, console.width))


def _record(backend: Backend) -> BackendLine:
    missing = tuple(need for need in backend.requirements() if not need.found)
    return BackendLine(backend.name, backend.title, backend.chips, missing)


@backend_app.command("install")
def install_backend(
    name: Annotated[str, typer.Argument(help="The backend whose toolchain to install.")],
) -> None:
    """Install or repair the environment of a backend's toolchain. Needs the network."""
    environment = get_backend(name).environment
    console = Console()
    if environment is None:
        raise UsageError(f"backend {name} needs no environment: see `kernelmill doctor`")
    with console.status(f"installing {', '.join(environment.pins())}"):
        made = environment.install()
    done = "installed" if made else "already installed and complete"
    console.print(f"{name}: {done}: {environment.folder}", highlight=False)


@backend_app.command("new")
def create_backend(
    name: Annotated[
        str, typer.Argument(help="Name of the backend: lower-case letters, digits and _.")
    ],
    folder: Annotated[
        Path | None, typer.Option(help="Folder of the package. Default: kernelmill-NAME.")
    ] = None,
) -> None:
    """Write a package with a working backend, its guide, an example and a conformance test."""
    package = folder or Path(f"kernelmill-{name}")
    written = scaffold(name, package)
    lines = (
        *(str(path) for path in written),
        "",
        f"next: cd {package} && pip install -e '.[test]' && pytest",
    )
    wide_console().print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


@backend_app.command("harvest")
def harvest_workspace(
    workspace: Annotated[Path, typer.Argument(help="The workspace of earlier campaigns.")],
    least: Annotated[int, typer.Option(min=1, help="Show refusals seen at least so often.")] = 2,
) -> None:
    """List what backends refused, how often, and how often the next attempt got past it."""
    rows = [
        (
            refusal.backend, refusal.gate, escape(refusal.text), str(refusal.seen),
            str(refusal.tasks), str(refusal.cured), "yes" if refusal.is_known else "no",
        )
        for refusal in harvest(workspace, least)
    ]  # fmt: skip
    console = wide_console()
    console.print(fitting_table(_REFUSAL_COLUMNS, rows, console.width))


def _readiness(backend: Backend) -> str:
    remedies = dict.fromkeys(need.remedy for need in backend.requirements() if not need.found)
    return "[red]no[/red]: " + escape("; ".join(remedies)) if remedies else "[green]yes[/green]"
