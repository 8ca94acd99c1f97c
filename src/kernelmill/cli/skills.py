"""`kernelmill skills`: methods and rules, their use in attempts, and drafts of new methods."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.markup import escape

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.help import CommandList
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.json_records import SkillRecord
from kernelmill.cli.options import WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.skills.agent_skill import AGENT_FOLDERS, install_agent_skill
from kernelmill.skills.distillation import accept_draft, find_draft, find_drafts
from kernelmill.skills.explanation import explain_attempt
from kernelmill.skills.library import load_library
from kernelmill.skills.lint import lint_library
from kernelmill.workspace import Workspace

skills_app = typer.Typer(
    cls=CommandList,
    no_args_is_help=True,
    help="Methods and rules: list, lint, explain, drafts, accept; install for agents.",
)
FolderOption = Annotated[
    Path | None, typer.Option(help="Folder with skills of your own, besides the built-in ones.")
]
_FLAWED = 1
_OWN = Path("kernelmill-skills")
_METHOD_COLUMNS = (
    Column("method", flexible=True),
    Column("backends", rank=2, flexible=True),
    Column("expects", rank=1, flexible=True),
    Column("title", flexible=True),
)
_DRAFT_COLUMNS = (
    Column("draft", "right"),
    Column("gain", "right"),
    Column("seen", "right", 2),
    Column("tasks", rank=1, flexible=True),
    Column("where", rank=3, flexible=True),
    Column("change", flexible=True),
)


@skills_app.command("list")
def list_skills(
    folder: FolderOption = None,
    backend: Annotated[str, typer.Option(help="Only methods for this backend.")] = "",
    json: JsonOption = False,
) -> None:
    """List the methods with their backends and what each is expected to change."""
    records = []
    for method in load_library(folder).methods.values():
        parts = method.front.backends
        if backend and method.on(backend) is None:
            continue
        expects = tuple(sorted({part.expects for part in parts.values()}))
        records.append(SkillRecord(method.name, method.front.title, tuple(parts), expects))
    if json:
        print_json(records)
        return
    console = wide_console()
    rows = [
        (one.name, " ".join(one.backends), ", ".join(one.expects), one.title) for one in records
    ]
    console.print(
        fitting_table(_METHOD_COLUMNS, [tuple(map(escape, r)) for r in rows], console.width)
    )


@skills_app.command("install")
def install_skill(
    agent: Annotated[
        str, typer.Option(help=f"The agent to teach: {', '.join(AGENT_FOLDERS)}.")
    ] = "claude",
    folder: Annotated[
        Path, typer.Option(help="Folder of the project, or your home for all projects.")
    ] = Path("."),
) -> None:
    """Teach a coding agent the loop of `kernelmill mcp`: write a skill file where it looks."""
    path = install_agent_skill(agent, folder)
    lines = (
        f"{path}",
        "then connect the agent to the server; for many agents, in their MCP settings:",
        f"  {_connection()}",
    )
    wide_console().print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _connection() -> str:
    """Settings that start the server: an agent seldom has the environment of this shell."""
    arguments = ["-m", "kernelmill", "mcp", "SUITE"]
    server = {"command": sys.executable, "args": arguments}
    return msgspec.json.encode({"mcpServers": {"kernelmill": server}}).decode()


@skills_app.command("lint")
def lint_skills(folder: FolderOption = None) -> None:
    """Check for unknown names, dead rules, gaps and contradictions; exit code 1 for any."""
    console = wide_console()
    library = load_library(folder)
    findings = lint_library(library)
    for flaw, where, what in findings:
        console.print(f"{where}: {flaw}: {what}", highlight=False, markup=False, soft_wrap=True)
    if findings:
        raise typer.Exit(_FLAWED)
    backends = ", ".join(library.backends)
    console.print(f"{len(library.methods)} methods for {backends}: no findings")


@skills_app.command("explain")
def explain_skills(
    attempt: Annotated[int, typer.Argument(help="The number of an attempt.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    folder: FolderOption = None,
) -> None:
    """Show the rule that fired for an attempt: its evidence, the plan, prediction and outcome."""
    with Workspace(workspace) as opened:
        text = explain_attempt(opened, opened.attempt(attempt), load_library(folder))
    wide_console().print(text, highlight=False, markup=False, soft_wrap=True)


@skills_app.command("drafts")
def list_drafts(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """List changes that made kernels faster and are no method yet."""
    console, rows = wide_console(), []
    with Workspace(workspace) as opened:
        for draft in find_drafts(opened):
            gain, seen, tasks = f"{draft.gain:.2f}x", str(draft.seen), ", ".join(draft.tasks)
            row = (str(draft.attempt), gain, seen, tasks, draft.where, draft.change)
            rows.append(tuple(map(escape, row)))
    console.print(fitting_table(_DRAFT_COLUMNS, rows, console.width))


@skills_app.command("accept")
def accept_command(
    draft: Annotated[int, typer.Argument(help="The number of a draft, from `skills drafts`.")],
    name: Annotated[
        str, typer.Option(help="Name of the method, words-with-dashes. Default: draft-NUMBER.")
    ] = "",
    folder: Annotated[Path, typer.Option(help="Folder of your own skills.")] = _OWN,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Write a draft as a method and a rule, for you to edit."""
    with Workspace(workspace) as opened:
        path = accept_draft(opened, find_draft(opened, draft), name or f"draft-{draft}", folder)
    lines = (
        f"{path}: edit it, then",
        f"  kernelmill skills lint --folder {folder}",
        f"  kernelmill run SUITE --strategy skill:folder={folder}",
    )
    wide_console().print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
