"""`kernelmill memory`: show, explain, audit, prune, export and import what was learned."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.help import CommandList
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.json_records import Explanation, Finding, MemoryReport, ShownItem
from kernelmill.cli.options import WorkspaceOption
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.memory import Memory, ValueRole
from kernelmill.memory.audit import AuditFinding, audit_memory, prune_memory
from kernelmill.memory.embedding import EMBEDDERS, get_embedder
from kernelmill.memory.summary import MemorySummary, best_items, summarise_memory
from kernelmill.memory.transfer import export_memory, import_memory
from kernelmill.records.calibration import calibrate
from kernelmill.records.proposal import Credit, Hint
from kernelmill.records.text import beginning
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.workspace import Workspace

memory_app = typer.Typer(
    cls=CommandList,
    no_args_is_help=True,
    help="What was learned: show, explain, audit, prune, export, import.",
)
_MOST_TEXT = 100
_VALUE_COLUMNS = (
    Column("item", "right"),
    Column("value", "right"),
    Column("visits", "right", 2),
    Column("kind", rank=1),
    Column("text", flexible=True),
)
_HINT_COLUMNS = (
    Column("item", "right"),
    Column("kind", rank=3),
    Column("similarity", "right", 4),
    Column("value", "right"),
    Column("visits", "right", 5),
    Column("used", rank=1),
    Column("why", rank=2, flexible=True),
    Column("text", flexible=True),
)
_FINDING_COLUMNS = (
    Column("item", "right"),
    Column("kind", rank=2),
    Column("flaw", flexible=True),
    Column("why", rank=1, flexible=True),
    Column("text", flexible=True),
)


@memory_app.command("show")
def show_memory(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    top: Annotated[int, typer.Option(min=0, help="Most valuable items to show per stage.")] = 5,
    json: JsonOption = False,
) -> None:
    """Count the items of the memory, and show the most valuable ones."""
    if json:
        with Workspace(workspace) as opened:
            print_json(_report(Memory(opened.database), top))
        return
    console = wide_console()
    with Workspace(workspace) as opened:
        memory = Memory(opened.database)
        console.print(_counts(summarise_memory(memory)))
        for role in (ValueRole.DRAFT, ValueRole.REFINE):
            rows = [
                (
                    str(item.id),
                    f"{value.value:+.2f}",
                    str(value.visits),
                    item.kind,
                    _cell(item.text),
                )
                for item, value in best_items(memory, role, top)
            ]
            title = f"stage: {role}"
            console.print(fitting_table(_VALUE_COLUMNS, rows, console.width, title=title))


@memory_app.command("explain")
def explain_memory(
    attempt: Annotated[int, typer.Argument(help="The number of an attempt.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    json: JsonOption = False,
) -> None:
    """Show why each item was shown to an attempt: similarity, value, visits, exploration."""
    console = wide_console()
    with Workspace(workspace) as opened:
        found = opened.attempt(attempt)
    if json:
        print_json(Explanation(found.id, found.stage, found.parent, found.context))
        return
    start = "nothing" if found.parent is None else f"attempt {found.parent}"
    console.print(f"attempt {found.id} ({found.stage}) started from {start}", highlight=False)
    rows = [_explained(hint, found.credit) for hint in found.context]
    console.print(fitting_table(_HINT_COLUMNS, rows, console.width))


@memory_app.command("predictions")
def predictions_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """Compare the speed that models expected of their kernels with what was measured."""
    with Workspace(workspace) as opened:
        predictions = opened.predictions()
    table = folding_table(
        "model", "predictions", "refused", "right to within a quarter", "measured over expected"
    )
    for model in sorted({one.model for one in predictions}):
        found = calibrate(one for one in predictions if one.model == model)
        share = "" if found.median is None else f"{found.median:.2f}"
        counts = map(str, (found.predictions, found.refused, found.near))
        table.add_row(escape(model) or "(no model)", *counts, share)
    wide_console().print(table)


@memory_app.command("audit")
def audit_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE, json: JsonOption = False) -> None:
    """List duplicates, harmful items, items never shown, and values out of bounds."""
    with Workspace(workspace) as opened:
        findings = audit_memory(Memory(opened.database))
    if json:
        print_json([Finding(flaw, item.id, why) for flaw, item, why in findings])
    else:
        _print_findings(findings, "no findings")


@memory_app.command("prune")
def prune_items(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """Remove duplicates and harmful items, and list what was removed."""
    with Workspace(workspace) as opened, opened.writing() as transaction:
        _print_findings(prune_memory(Memory(transaction)), "nothing to remove")


@memory_app.command("export")
def export_items(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK", help="Leave out the items of a task: a name or a pattern; repeatable."
        ),
    ] = None,
) -> None:
    """Write the memory to a file that any workspace can import."""
    with Workspace(workspace) as opened:
        count = export_memory(
            Memory(opened.database), file, opened.folder.resolve().name, tuple(without or ())
        )
    wide_console().print(f"{count} items in {file}", highlight=False)


@memory_app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="A file that `memory export` wrote.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Add an exported memory to this one; items that both have are merged."""
    with Workspace(workspace, create=True) as opened, opened.writing() as transaction:
        done = import_memory(Memory(transaction), file)
    wide_console().print(f"{done.fresh} new items, {done.merged} merged", highlight=False)


@memory_app.command("embed")
def embed_memory(
    embedder: Annotated[str, typer.Argument(help=f"One of {', '.join(EMBEDDERS)}.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Embed every item again; from then on the memory uses this embedder."""
    with Workspace(workspace, create=True) as opened, opened.writing() as transaction:
        count = Memory(transaction).re_embed(get_embedder(embedder))
    wide_console().print(f"{count} items embedded by {embedder}", highlight=False)


def _report(memory: Memory, top: int) -> MemoryReport:
    summary = summarise_memory(memory)
    return MemoryReport(
        summary.embedder,
        {str(kind): count.items for kind, count in summary.kinds.items()},
        {
            str(role): tuple(ShownItem(*one) for one in best_items(memory, role, top))
            for role in (ValueRole.DRAFT, ValueRole.REFINE)
        },
    )


def _counts(summary: MemorySummary) -> Table:
    table = folding_table("kind", "items", "met", "shown", title=f"embedder: {summary.embedder}")
    for kind, count in summary.kinds.items():
        table.add_row(kind, str(count.items), str(count.occurrences), str(count.visits))
    return table


def _explained(hint: Hint, credit: Credit | None) -> tuple[str, ...]:
    why = hint.why
    reason = "" if why is None else why.reason + (", explored" if why.explored else "")
    similarity = "" if why is None or why.similarity is None else f"{why.similarity:.2f}"
    value = "" if why is None or why.value is None else f"{why.value:+.2f}"
    visits = "" if why is None or why.value is None else str(why.visits)
    number = "" if hint.item is None else str(hint.item)
    used = _use(hint, credit)
    return (number, hint.kind, similarity, value, visits, used, reason, _cell(hint.text))


def _use(hint: Hint, credit: Credit | None) -> str:
    if credit is None or hint.item is None:
        return ""
    if hint.item not in credit.shown:
        return "left out"
    return "yes" if hint.item in credit.used else "no"


def _print_findings(findings: list[AuditFinding], otherwise: str) -> None:
    console = wide_console()
    if not findings:
        console.print(otherwise)
        return
    rows = [
        (str(item.id), item.kind, flaw, escape(why), _cell(item.text))
        for flaw, item, why in findings
    ]
    console.print(fitting_table(_FINDING_COLUMNS, rows, console.width))


def _cell(text: str) -> str:
    return escape(beginning(text, _MOST_TEXT))
