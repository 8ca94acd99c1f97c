"""`kernelmill workspace`: the size of a workspace, and what can be removed from it."""

from typing import Annotated

import msgspec
import typer

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.help import CommandList
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import CampaignOption, WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.records.text import counted
from kernelmill.workspace import Workspace
from kernelmill.workspace.database import FILE

workspace_app = typer.Typer(
    cls=CommandList, no_args_is_help=True, help="The workspace: size, prune."
)


class WorkspaceSize(msgspec.Struct, frozen=True):
    database_bytes: int
    messages: int
    """Messages to and from models."""
    texts: int
    """Different ones among them; each is stored once."""
    characters: int
    stored_bytes: int
    """Compressed."""


@workspace_app.command("size")
def size_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE, json: JsonOption = False) -> None:
    """Show how large the database is, and how much of it are prompts and answers of models."""
    size = _size(workspace)
    if json:
        print_json(size)
    else:
        _print(size)


@workspace_app.command("prune")
def prune_workspace(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    champions: Annotated[
        bool, typer.Option("--champions", help="Also those of the best attempts.")
    ] = False,
) -> None:
    """Remove prompts and answers of models: of all campaigns, or of one.

    Attempts, verdicts, sources, costs and what was learned stay.
    """
    with Workspace(workspace) as opened:
        number = None if campaign is None else opened.campaign(campaign).id
        opened.prune_conversations(number, keep_champions=not champions)
        opened.compact()
    _print(_size(workspace))


def _size(workspace: WorkspaceOption) -> WorkspaceSize:
    with Workspace(workspace) as opened:
        stored = opened.conversations_size()
        return WorkspaceSize((opened.folder / FILE).stat().st_size, **stored._asdict())


def _print(size: WorkspaceSize) -> None:
    wide_console().print(
        f"database: {_megabytes(size.database_bytes)}\n"
        f"prompts and answers: {counted(size.messages, 'message')}, {size.texts} of them different,"
        f"\n{size.characters:,} characters, in {_megabytes(size.stored_bytes)}",
        highlight=False,
        soft_wrap=True,
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} KB"
