"""`kernelmill status`: the campaigns of a workspace."""

from rich.markup import escape

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.report import money
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.report.listing import CampaignLine, age, campaign_lines
from kernelmill.workspace import Workspace

_COLUMNS = (
    Column("campaign", flexible=True),
    Column("generator", rank=3, flexible=True),
    Column("strategy", rank=4, flexible=True),
    Column("solved", "right"),
    Column("attempts", "right"),
    Column("cost", "right", 2),
    Column("age", "right", 5),
    Column("last event", rank=1, flexible=True),
)


def status_command(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, json: JsonOption = False
) -> None:
    """List the campaigns of a workspace: progress, solved tasks, cost."""
    with Workspace(workspace) as opened:
        lines = campaign_lines(opened)
    if json:
        print_json(lines)
        return
    console = wide_console()
    console.print(fitting_table(_COLUMNS, [_row(line) for line in lines], console.width))


def _row(line: CampaignLine) -> tuple[str, ...]:
    event = line.last_event
    return (
        f"{line.id}: {escape(', '.join(line.suites))}",
        escape(line.generator),
        escape(line.strategy),
        f"{line.totals.solved} of {line.tasks}",
        f"{line.totals.done} of {line.budget * line.tasks}",
        money(line.totals),
        age(line.last_change),
        "" if event is None else escape(f"{event.kind} {event.text}".strip()),
    )
