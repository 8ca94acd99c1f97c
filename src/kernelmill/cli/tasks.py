"""`kernelmill tasks`: list suites, show a task, screen tasks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill import api
from kernelmill.cli.help import CommandList
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.json_records import TaskLine
from kernelmill.cli.options import ScaleOption
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.judge.screening import CHEATS, Screening
from kernelmill.records.errors import UsageError
from kernelmill.records.task import Task
from kernelmill.tasks import Suite, find_suite, suite_names
from kernelmill.tasks.loader import SkippedFile

tasks_app = typer.Typer(cls=CommandList, no_args_is_help=True, help="Tasks: list, show, screen.")
_HOLES = 1


@tasks_app.command("list")
def list_tasks(
    suite: Annotated[str, typer.Argument(help="A suite. Default: all that are built in.")] = "",
    json: JsonOption = False,
) -> None:
    """List the tasks of a suite, without running any of their code."""
    if json:
        names = (suite,) if suite else suite_names()
        print_json([line for name in names for line in _lines(find_suite(name))])
        return
    console = wide_console()
    for name in (suite,) if suite else suite_names():
        found = find_suite(name)
        console.print(f"[bold]{escape(name)}[/bold] ({len(found.tasks)} tasks)")
        for task in found.tasks:
            line = f"  {escape(task.id)}  {task.family or ''}"
            console.print(line, highlight=False, soft_wrap=True)
        for file in found.skipped:
            _print_skipped(console, file)


@tasks_app.command("show")
def show_task(
    task: Annotated[str, typer.Argument(help="A task: suite/name, or a file.")],
    scale: ScaleOption = None,
    ir: Annotated[
        bool, typer.Option("--ir", help="Print what the composer makes kernels of.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Load a task in a sandbox and describe it: shapes, operators, hidden variants."""
    if ir:
        found = api.describe_suite(task, scale=scale)
        for text in api.lower_tasks(one for one in found if isinstance(one, Task)):
            typer.echo(text)
        return
    if json:
        found = api.describe_suite(task, scale=scale)
        print_json([one for one in found if isinstance(one, Task)])
        return
    console = wide_console()
    for described in api.describe_suite(task, scale=scale):
        if isinstance(described, SkippedFile):
            _print_skipped(console, described)
        else:
            console.print(_description(described))


@tasks_app.command("screen")
def screen_tasks(
    suite: Annotated[str, typer.Argument(help="A suite, a file or a folder.")],
    scale: ScaleOption = None,
    json: Annotated[
        Path | None, typer.Option(help="Keep what is found here, one line of JSON per task.")
    ] = None,
) -> None:
    """Find the tasks whose check would let dishonest outputs through.

    Exit code 1 if a cheat passes under all input distributions of a task, or a task asks nothing or
    is unusable.
    """
    console = wide_console()
    results: list[Screening] = []
    unusable = 0
    with console.status("screening") as status:
        for name, screening, reason in api.screen_suite(
            suite, scale=scale, progress=lambda name: status.update(f"screening {escape(name)}")
        ):
            if screening is None:
                unusable += 1
                console.print(f"[red]unusable[/red] {escape(reason)}", soft_wrap=True)
                continue
            results.append(screening)
            console.print(f"{escape(name)}: {_finding(screening)}", soft_wrap=True, highlight=False)
            if json is not None:
                _append(json, screening, first=len(results) == 1)
    console.print(_conclusion(results, unusable), highlight=False, soft_wrap=True)
    if unusable or any(result.has_hole for result in results):
        raise typer.Exit(_HOLES)


def _lines(suite: Suite) -> Iterator[TaskLine]:
    for task in suite.tasks:
        yield TaskLine(task.id, task.path, task.family)
    for file in suite.skipped:
        yield TaskLine(file.name, "", None, file.reason)


def _print_skipped(console: Console, file: SkippedFile) -> None:
    console.print(
        f"  skipped: {file.name}: {file.reason}", highlight=False, markup=False, soft_wrap=True
    )


def _finding(result: Screening) -> str:
    """What was found out about one task, on one line."""
    parts = []
    if result.degenerate:
        parts.append(f"[red]degenerate task[/red]: {escape(result.degenerate)}")
    if result.open:
        parts.append(f"[red]lets through[/red] {', '.join(result.open)}")
    if not parts:
        parts.append("[green]lets nothing through[/green]")
    if result.repair:
        parts.append(f"asks something with {result.repair} only")
    parts += [f"{cheat} is refused only by {how}" for cheat, how in result.closed.items()]
    if result.idle:
        parts.append(f"does not depend on {escape(', '.join(result.idle))}")
    return "; ".join(parts)


def _conclusion(results: list[Screening], unusable: int) -> str:
    degenerate = sum(bool(result.degenerate) for result in results)
    still_open = sum(bool(result.open) for result in results)
    repaired = sum(bool(result.repair) for result in results)
    return (
        f"{len(results)} tasks: {still_open} let a cheat ({', '.join(CHEATS)}) through, "
        f"{degenerate} degenerate, {repaired} repaired, {unusable} unusable"
    )


def _append(path: Path, screening: Screening, first: bool) -> None:
    try:
        with path.open("wb" if first else "ab") as file:
            file.write(msgspec.json.encode(screening) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _description(task: Task) -> Table:
    table = folding_table("field", "value", title=escape(task.id), show_header=False)
    rows = {
        "family": task.family,
        "inputs": ", ".join(map(str, task.shown.tensors)),
        "outputs": ", ".join(map(str, task.outputs)),
        "state": ", ".join(f"{name} {spec}" for name, spec in task.state.items()) or "none",
        "operators": ", ".join(task.signature),
        "examined with": ", ".join(map(str, task.examined)) or "the same inputs",
        "hidden shapes": str(len(task.hidden)),
        "distributions": ", ".join(task.distributions),
        "promises": "; ".join(map(" ".join, filter(None, task.promises))) or "none",
        "not tried": "; ".join(task.untried) or "nothing",
        "degenerate": task.degenerate or "no",
        "arithmetic": f"{task.flops / 1e6:.1f} Mflop in contractions",
        "digest": task.digest,
    }
    for field, value in rows.items():
        table.add_row(field, escape(value))
    return table
