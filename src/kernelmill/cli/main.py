"""`kernelmill`: all commands, and errors as one line."""

import os
import sqlite3
import sys
import traceback
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kernelmill import __version__
from kernelmill.cli.backend import backend_app
from kernelmill.cli.dashboard import dashboard_command
from kernelmill.cli.doctor import doctor_command
from kernelmill.cli.encoding import demand_utf8
from kernelmill.cli.export import export_command
from kernelmill.cli.extract import extract_command, patch_command
from kernelmill.cli.help import CommandList
from kernelmill.cli.mcp import mcp_command
from kernelmill.cli.memory import memory_app
from kernelmill.cli.progress import INTERRUPTED
from kernelmill.cli.prompt import prompt_command
from kernelmill.cli.report import report_command
from kernelmill.cli.resume import resume_command
from kernelmill.cli.run import run_command
from kernelmill.cli.schema import schema_command
from kernelmill.cli.show import show_command
from kernelmill.cli.skills import skills_app
from kernelmill.cli.status import status_command
from kernelmill.cli.tasks import tasks_app
from kernelmill.cli.verify import verify_command
from kernelmill.cli.workspace import workspace_app
from kernelmill.records.errors import KernelmillError
from kernelmill.workspace.database import damaged

_USER_ERROR = 2
_BROKEN_PIPE = 141

app = typer.Typer(
    cls=CommandList,
    name="kernelmill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fast, verified compute kernels from a PyTorch reference.",
)
app.command("doctor")(doctor_command)
app.command("verify")(verify_command)
app.command("run")(run_command)
app.command("resume")(resume_command)
app.command("status")(status_command)
app.command("show")(show_command)
app.command("report")(report_command)
app.command("export")(export_command)
app.command("extract")(extract_command)
app.command("patch")(patch_command)
app.command("prompt")(prompt_command)
app.command("schema")(schema_command)
app.command("dashboard")(dashboard_command)
app.command("mcp")(mcp_command)
app.add_typer(workspace_app, name="workspace")
app.add_typer(backend_app, name="backend")
app.add_typer(tasks_app, name="tasks")
app.add_typer(memory_app, name="memory")
app.add_typer(skills_app, name="skills")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelmill {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options of every command; they come before its name."""


def main() -> None:
    """Entry point; a user's error is one line on stderr and exit code 2."""
    demand_utf8()
    try:
        sys.exit(app(standalone_mode=False, prog_name="kernelmill"))
    except (KernelmillError, typer.TyperException) as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        _print_error(_message(error))
        sys.exit(_USER_ERROR)
    except sqlite3.DatabaseError as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        _print_error(str(damaged(str(error))))
        sys.exit(_USER_ERROR)
    except BrokenPipeError:
        os._exit(_BROKEN_PIPE)  # whoever read the output has seen enough
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)


def _print_error(text: str) -> None:
    # A command group without a command prints its help, which is no error.
    lead = "" if text.startswith("Usage:") else "[red]error:[/red] "
    Console(stderr=True).print(f"{lead}{escape(text)}", highlight=False, soft_wrap=True)


def _message(error: KernelmillError | typer.TyperException) -> str:
    return str(error) if isinstance(error, KernelmillError) else error.format_message()
