"""`kernelmill skills`: the methods and rules, what came of them, and new ones from what worked."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kernelmill.cli.options import DEFAULT_WORKSPACE
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.errors import UsageError
from kernelmill.skills.distilling import accept as accept_draft
from kernelmill.skills.distilling import drafts as find_drafts
from kernelmill.skills.explaining import explain as explain_attempt
from kernelmill.skills.library import load_library
from kernelmill.skills.lint import lint as lint_library
from kernelmill.workspace import Workspace

app = typer.Typer(no_args_is_help=True, help="Methods and rules: list, check, explain, accept.")
Folder = Annotated[
    Path | None, typer.Option(help="Skills of your own, beside those that come along.")
]
_FLAWED = 1
_OWN = Path("kernelmill-skills")


@app.command("list")
def list_(
    folder: Folder = None,
    backend: Annotated[str, typer.Option(help="Only those for one backend.")] = "",
) -> None:
    """Every method: where it can be done, and what it expects."""
    table = Table("method", "backends", "expects", "what it is")
    for method in load_library(folder).methods.values():
        parts = method.front.backends
        if backend and backend not in parts:
            continue
        expects = sorted({part.expects for part in parts.values()})
        row = (method.name, " ".join(parts), ", ".join(expects), method.front.title)
        table.add_row(*map(escape, row))
    wide_console().print(table)


@app.command("lint")
def lint(folder: Folder = None) -> None:
    """Look for unknown names, dead rules, holes, contradictions; exit code 1 for any of them."""
    console = wide_console()
    library = load_library(folder)
    findings = lint_library(library)
    for flaw, where, what in findings:
        console.print(escape(f"{where}: {flaw}: {what}"), highlight=False, soft_wrap=True)
    if findings:
        raise typer.Exit(_FLAWED)
    backends = ", ".join(library.backends)
    console.print(f"{len(library.methods)} methods for {backends}: nothing to complain of")


@app.command("explain")
def explain(
    attempt: Annotated[int, typer.Argument(help="The number of an attempt.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    folder: Folder = None,
) -> None:
    """The rule that fired for an attempt, its evidence, the plan, the prediction, the outcome."""
    console = wide_console()
    with Workspace(workspace) as opened:
        text = explain_attempt(opened, opened.attempt(attempt), load_library(folder))
    console.print(escape(text), highlight=False, soft_wrap=True)


@app.command("drafts")
def drafts(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """Changes that made kernels strictly faster, as methods somebody might write down."""
    table = Table("draft", "gain", "seen", "tasks", "where", "what was changed")
    with Workspace(workspace) as opened:
        for draft in find_drafts(opened):
            gain, seen, tasks = f"{draft.gain:.2f}x", str(draft.seen), ", ".join(draft.tasks)
            row = (str(draft.attempt), gain, seen, tasks, draft.where, draft.change)
            table.add_row(*map(escape, row))
    wide_console().print(table)


@app.command("accept")
def accept(
    draft: Annotated[int, typer.Argument(help="The number of a draft, from `skills drafts`.")],
    name: Annotated[str, typer.Option(help="What to call it: words with dashes.")] = "",
    folder: Annotated[Path, typer.Option(help="Where to put it.")] = _OWN,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Write a draft down as a method and a rule in a folder of your own, for you to edit."""
    with Workspace(workspace) as opened:
        found = next((one for one in find_drafts(opened) if one.attempt == draft), None)
        if found is None:
            raise UsageError(f"there is no draft {draft}: `kernelmill skills drafts` lists them")
        path = accept_draft(opened, found, name or f"draft-{draft}", folder)
    lines = (
        f"{path}: edit it, then",
        f"  kernelmill skills lint --folder {folder}",
        f"  kernelmill run SUITE --strategy skill:folder={folder}",
    )
    wide_console().print("\n".join(map(escape, lines)), highlight=False, soft_wrap=True)
