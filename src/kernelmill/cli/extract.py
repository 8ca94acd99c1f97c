"""`kernelmill extract` and `kernelmill patch`: regions of a model as tasks, and back."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import BackendOption, MaxMinutesOption, WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.deploy.optimize_report import OptimizeReport, RegionRow
from kernelmill.report.fitting import Column, fitting_table

_NOT_FASTER = 1
_COLUMNS = (
    Column("task", flexible=True),
    Column("operators", rank=3, flexible=True),
    Column("places", "right", 4),
    Column("share", "right", 1),
    Column("at most", "right", 2),
)
_JUDGED_COLUMNS = (Column("alone", "right", flexible=True), Column("outcome", flexible=True))

ModelArgument = Annotated[
    str,
    typer.Argument(
        help="A Python file or module with Model, get_inputs() and get_init_inputs(). It runs in "
        "this process."
    ),
]


def extract_command(
    model: ModelArgument,
    to: Annotated[Path, typer.Option(help="Folder for the task files.")] = Path("regions"),
    json: JsonOption = False,
) -> None:
    """Find the regions of a model that are worth a kernel, and write them as tasks.

    `kernelmill run FOLDER` searches kernels for them, and `kernelmill patch` puts these back.
    """
    from kernelmill.deploy.optimize import extract_model_file

    rows = extract_model_file(model, to)
    if json:
        print_json(rows)
        return
    console = wide_console()
    console.print(_table(rows, console.width, judged=False))
    console.print(f"{len(rows)} tasks in {to}", markup=False, highlight=False, soft_wrap=True)


def patch_command(
    model: ModelArgument,
    backend: BackendOption = "cpp",
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    budget: Annotated[
        int, typer.Option(min=0, help="Attempts per region without a kernel. 0 only looks up.")
    ] = 0,
    max_minutes: MaxMinutesOption = None,
    json: JsonOption = False,
) -> None:
    """Put the champions of a workspace into a model, and measure it end to end.

    Exit code 0: shown to be faster. 1: the original stays. 2: bad input.
    """
    from kernelmill.deploy.optimize import patch_model_file

    console = wide_console()
    with console.status("") as status:
        report = patch_model_file(
            model, backend=backend, workspace=workspace, budget=budget, max_minutes=max_minutes,
            progress=status.update,
        )  # fmt: skip
    if json:
        print_json(report)
    else:
        _print(report)
    if not report.is_faster:
        raise typer.Exit(_NOT_FASTER)


def _print(report: OptimizeReport) -> None:
    console = wide_console()
    console.print(_table(report.rows, console.width))
    console.print(report.conclusion(), markup=False, highlight=False, soft_wrap=True)


def _table(rows: tuple[RegionRow, ...], width: int, judged: bool = True) -> Table:
    columns = (*_COLUMNS, *_JUDGED_COLUMNS) if judged else _COLUMNS
    lines = []
    for row in rows:
        operators = escape(", ".join(dict.fromkeys(row.operators)))
        figures = (str(row.places), f"{row.share:.1%}", f"{row.bound:.2f}x")
        outcome = (escape(str(row.over_baseline or "")), escape(row.outcome)) if judged else ()
        lines.append((escape(row.task), operators, *figures, *outcome))
    return fitting_table(columns, lines, width)
