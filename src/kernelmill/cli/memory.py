"""`kernelmill memory`: look into what was learned, carry it elsewhere, tidy it up."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kernelmill.cli.options import DEFAULT_WORKSPACE
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.generators.base import Hint
from kernelmill.memory import Memory, Role
from kernelmill.memory import audit as auditing
from kernelmill.memory.embedding import EMBEDDERS, get_embedder
from kernelmill.memory.summary import Summary, best_items, summarise
from kernelmill.memory.transfer import export as export_memory
from kernelmill.memory.transfer import import_file
from kernelmill.workspace import Workspace

app = typer.Typer(no_args_is_help=True, help="What was learned: show, explain, carry, tidy up.")
_MOST_TEXT = 100


@app.command("show")
def show(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    top: Annotated[int, typer.Option(min=0, help="Items of most worth, a stage.")] = 5,
) -> None:
    """Count what is there, and show what is worth most."""
    console = wide_console()
    with Workspace(workspace) as opened:
        memory = Memory(opened.database)
        console.print(_counts(summarise(memory)))
        for role in (Role.DRAFT, Role.REFINE):
            table = Table("item", "value", "visits", "kind", "what it says", title=f"to {role}")
            for worth in best_items(memory, role, top):
                item, value = worth.item, worth.value
                text = escape(_short(item.text))
                table.add_row(
                    str(item.id), f"{value.value:+.2f}", str(value.visits), item.kind, text
                )
            console.print(table)


@app.command("explain")
def explain(
    attempt: Annotated[int, typer.Argument(help="The number of an attempt.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Why each item was shown to an attempt: similarity, value, visits, exploration."""
    console = wide_console()
    with Workspace(workspace) as opened:
        found = opened.attempt(attempt)
    start = "nothing" if found.parent is None else f"attempt {found.parent}"
    console.print(f"attempt {found.id} ({found.stage}) started from {start}", highlight=False)
    table = Table("item", "kind", "similarity", "value", "visits", "why", "what it says")
    for hint in found.context:
        table.add_row(*_explained(hint))
    console.print(table)


@app.command("audit")
def audit(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """List duplicates, dead items, items never shown, and values out of bounds."""
    with Workspace(workspace) as opened:
        _print_findings(auditing.audit(Memory(opened.database)), "nothing to complain of")


@app.command("prune")
def prune(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """Remove duplicates and dead items, and say what went."""
    with Workspace(workspace) as opened, opened.writing() as transaction:
        _print_findings(auditing.prune(Memory(transaction)), "nothing to remove")


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="Where to write it.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out a task's items: a name or a pattern.")
    ] = None,
) -> None:
    """Write the memory as one file that any workspace can import."""
    with Workspace(workspace) as opened:
        count = export_memory(
            Memory(opened.database), file, opened.folder.resolve().name, tuple(without or ())
        )
    wide_console().print(f"{count} items in {file}", highlight=False)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `memory export` wrote.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Add another memory to this one; what both know is merged."""
    with Workspace(workspace, create=True) as opened, opened.writing() as transaction:
        done = import_file(Memory(transaction), file)
    wide_console().print(f"{done.fresh} new items, {done.merged} merged", highlight=False)


@app.command("embed")
def embed(
    embedder: Annotated[str, typer.Argument(help=f"One of {', '.join(EMBEDDERS)}.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Embed every item anew; from then on this memory uses that embedder."""
    with Workspace(workspace, create=True) as opened, opened.writing() as transaction:
        count = Memory(transaction).embed_anew(get_embedder(embedder))
    wide_console().print(f"{count} items embedded by {embedder}", highlight=False)


def _counts(summary: Summary) -> Table:
    table = Table("kind", "items", "met", "shown", title=f"embedded by {summary.embedder}")
    for kind, count in summary.kinds.items():
        table.add_row(kind, str(count.items), str(count.met), str(count.visits))
    return table


def _explained(hint: Hint) -> tuple[str, ...]:
    why = hint.why
    reason = "" if why is None else why.reason + (", by lot" if why.explored else "")
    similarity = "" if why is None or why.similarity is None else f"{why.similarity:.2f}"
    value = "" if why is None or why.value is None else f"{why.value:+.2f}"
    visits = "" if why is None or why.value is None else str(why.visits)
    number = "" if hint.item is None else str(hint.item)
    return (number, hint.kind, similarity, value, visits, reason, escape(_short(hint.text)))


def _print_findings(findings: list[auditing.Finding], otherwise: str) -> None:
    console = wide_console()
    if not findings:
        console.print(otherwise)
        return
    table = Table("item", "kind", "flaw", "why", "what it says")
    for flaw, item, why in findings:
        table.add_row(str(item.id), item.kind, flaw, escape(why), escape(_short(item.text)))
    console.print(table)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 3]}..."
