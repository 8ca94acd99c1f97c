"""`kernelmill tasks`: list suites, show a task, screen tasks for holes."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.cli.options import Scale
from kernelmill.cli.terminal import wide_console
from kernelmill.errors import TaskError
from kernelmill.judge import Judge
from kernelmill.judge.screening import CHEATS, Screening, screen
from kernelmill.tasks import Task, load_suite, suite_names

app = typer.Typer(no_args_is_help=True, help="Look at tasks: list, show, screen.")
_HOLES = 1


@app.command("list")
def list_tasks(
    suite: Annotated[str, typer.Argument(help="A suite; all built-in ones by default.")] = "",
) -> None:
    """List the tasks of a suite without running anything of them."""
    console = Console()
    for name in (suite,) if suite else suite_names():
        tasks = load_suite(name)
        console.print(f"[bold]{name}[/bold] ({len(tasks)} tasks)")
        for task in tasks:
            console.print(f"  {task.id}  {task.family or ''}", highlight=False)


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="A task: suite/name, or a file.")],
    scale: Scale = None,
) -> None:
    """Load a task in a cell and print what it is: shapes, operators, hidden variants."""
    console = Console()
    with Judge(get_backend("cpp")) as judge:
        for file in load_suite(task):
            console.print(_description(judge.describe(file, scale)))


@app.command("screen")
def screen_tasks(
    suite: Annotated[str, typer.Argument(help="A suite, a file or a folder.")],
    scale: Scale = None,
) -> None:
    """Try dishonest outputs on every task: which cheats would its check let through?

    Exit code 1 where a hole stays open under all input distributions.
    """
    console = wide_console()
    results, broken = [], 0
    with Judge(get_backend("cpp")) as judge:
        for file in load_suite(suite):
            with console.status(f"screening {file.id}"):
                try:
                    results.append(screen(judge, judge.describe(file, scale)))
                except TaskError as error:
                    broken += 1
                    console.print(f"[red]unusable[/red] {error}", soft_wrap=True)
    console.print(_screening_table(results))
    closed = sum(bool(result.closed) for result in results)
    still_open = [result for result in results if result.open]
    console.print(
        f"{len(results)} tasks: {len(still_open)} with an open hole, {closed} closed by better "
        f"inputs, {broken} unusable",
        highlight=False,
    )
    if still_open or broken:
        raise typer.Exit(_HOLES)


def _screening_table(results: list[Screening]) -> Table:
    table = Table("task", "lets through", "closed by", "distributions")
    for result in results:
        closed = "; ".join(f"{cheat}: {how}" for cheat, how in result.closed.items())
        holes = ", ".join(result.open)
        table.add_row(
            result.task,
            f"[red]{holes}[/red]" if holes else "[green]nothing[/green]",
            closed,
            ", ".join(result.flavours),
        )
    table.caption = "tried: " + ", ".join(CHEATS)
    return table


def _description(task: Task) -> Table:
    table = Table("field", "value", title=task.id, show_header=False)
    rows = {
        "family": task.family,
        "inputs": ", ".join(map(str, task.shown.tensors)),
        "outputs": ", ".join(map(str, task.outputs)),
        "state": ", ".join(f"{name} {kind}" for name, kind in task.state.items()) or "none",
        "operators": ", ".join(task.signature),
        "hidden shapes": str(len(task.hidden)),
        "distributions": ", ".join(task.flavours),
        "arithmetic": f"{task.flops / 1e6:.1f} Mflop in contractions",
        "digest": task.digest,
    }
    for field, value in rows.items():
        table.add_row(field, value)
    return table
