"""`kernelmill`: collects the verbs, and turns mistakes into one clear line."""

import sys
import traceback
from typing import Annotated

import typer
from rich.console import Console

from kernelmill import __version__
from kernelmill.cli import doctor, tasks, verify
from kernelmill.errors import KernelmillError

_USER_ERROR = 2
_INTERRUPTED = 130

app = typer.Typer(
    name="kernelmill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    help="Fast, proven compute kernels from a PyTorch reference, with evidence.",
)
app.command("doctor")(doctor.doctor)
app.command("verify")(verify.verify)
app.add_typer(tasks.app, name="tasks")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelmill {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Options before the verb."""


def main() -> None:
    """Entry of the command: exit code 2 and one line for a user's mistake."""
    try:
        app()
    except KernelmillError as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        sys.exit(_USER_ERROR)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
