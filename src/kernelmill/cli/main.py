"""`kernelmill`: collects the verbs, and turns mistakes into one clear line."""

import sys
import traceback
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kernelmill import __version__
from kernelmill.cli import (
    backend,
    doctor,
    memory,
    prompt,
    report,
    resume,
    run,
    show,
    skills,
    status,
    tasks,
    verify,
)
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
app.command("run")(run.run)
app.command("resume")(resume.resume)
app.command("status")(status.status)
app.command("show")(show.show)
app.command("report")(report.report)
app.command("prompt")(prompt.prompt)
app.add_typer(backend.app, name="backend")
app.add_typer(tasks.app, name="tasks")
app.add_typer(memory.app, name="memory")
app.add_typer(skills.app, name="skills")


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
        sys.exit(app(standalone_mode=False))
    except (KernelmillError, typer.TyperException) as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        text = _message(error)
        # A verb without its arguments is answered with its help, which is no error's text.
        lead = "" if text.startswith("Usage:") else "[red]error:[/red] "
        Console(stderr=True).print(f"{lead}{escape(text)}", highlight=False, soft_wrap=True)
        sys.exit(_USER_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_INTERRUPTED)


def _message(error: KernelmillError | typer.TyperException) -> str:
    return str(error) if isinstance(error, KernelmillError) else error.format_message()
