"""`kernelmill tasks`: list suites, show a task, screen tasks."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill import api
from kernelmill.cli.options import ScaleOption
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.judge.screening import CHEATS, Screening
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite, suite_names

tasks_app = typer.Typer(no_args_is_help=True, help="Tasks: list, show, screen.")
_HOLES = 1


@tasks_app.command("list")
def list_tasks(
    suite: Annotated[str, typer.Argument(help="A suite. Default: all that are built in.")] = "",
) -> None:
    """List the tasks of a suite, without running any of their code."""
    console = Console()
    for name in (suite,) if suite else suite_names():
        tasks = load_suite(name)
        console.print(f"[bold]{name}[/bold] ({len(tasks)} tasks)")
        for task in tasks:
            console.print(f"  {task.id}  {task.family or ''}", highlight=False)


@tasks_app.command("show")
def show_task(
    task: Annotated[str, typer.Argument(help="A task: suite/name, or a file.")],
    scale: ScaleOption = None,
) -> None:
    """Load a task in a sandbox and describe it: shapes, operators, hidden variants."""
    console = Console()
    for described in api.describe_suite(task, scale=scale):
        console.print(_description(described))


@tasks_app.command("screen")
def screen_tasks(
    suite: Annotated[str, typer.Argument(help="A suite, a file or a folder.")],
    scale: ScaleOption = None,
) -> None:
    """Find the tasks whose check would let dishonest outputs through.

    Exit code 1 if a cheat passes under all input distributions of a task, or a task is unusable.
    """
    console = wide_console()
    results: list[Screening] = []
    unusable = 0
    with console.status("screening") as status:
        for _, screening, reason in api.screen_suite(
            suite, scale=scale, progress=lambda name: status.update(f"screening {name}")
        ):
            if screening is not None:
                results.append(screening)
                continue
            unusable += 1
            console.print(f"[red]unusable[/red] {escape(reason)}", soft_wrap=True)
    console.print(_screening_table(results))
    closed = sum(bool(result.closed) for result in results)
    still_open = sum(bool(result.open) for result in results)
    console.print(
        f"{len(results)} tasks: {still_open} let a cheat through, {closed} refuse one only thanks "
        f"to other input distributions, {unusable} unusable",
        highlight=False,
        soft_wrap=True,
    )
    if still_open or unusable:
        raise typer.Exit(_HOLES)


def _screening_table(results: list[Screening]) -> Table:
    table = folding_table("task", "lets through", "refused only by", "distributions")
    for result in results:
        closed = "; ".join(f"{cheat}: {how}" for cheat, how in result.closed.items())
        holes = ", ".join(result.open)
        table.add_row(
            result.task,
            f"[red]{holes}[/red]" if holes else "[green]nothing[/green]",
            closed,
            ", ".join(result.distributions),
        )
    table.caption = "cheats: " + ", ".join(CHEATS)
    return table


def _description(task: Task) -> Table:
    table = folding_table("field", "value", title=task.id, show_header=False)
    rows = {
        "family": task.family,
        "inputs": ", ".join(map(str, task.shown.tensors)),
        "outputs": ", ".join(map(str, task.outputs)),
        "state": ", ".join(f"{name} {spec}" for name, spec in task.state.items()) or "none",
        "operators": ", ".join(task.signature),
        "hidden shapes": str(len(task.hidden)),
        "distributions": ", ".join(task.distributions),
        "arithmetic": f"{task.flops / 1e6:.1f} Mflop in contractions",
        "digest": task.digest,
    }
    for field, value in rows.items():
        table.add_row(field, value)
    return table
