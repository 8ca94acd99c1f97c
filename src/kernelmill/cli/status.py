"""`kernelmill status`: the campaigns of a workspace."""

from rich import box
from rich.markup import escape

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.options import WorkspaceOption
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.records.campaign import Campaign
from kernelmill.report import money
from kernelmill.workspace import Workspace

_COLUMNS = ("campaign", "generator", "strategy", "solved", "attempts", "cost", "last event")


def status_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """List the campaigns of a workspace: progress, solved tasks, cost."""
    table = folding_table(*_COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    with Workspace(workspace) as opened:
        for campaign in opened.campaigns():
            table.add_row(*_row(opened, campaign))
    wide_console().print(table)


def _row(workspace: Workspace, campaign: Campaign) -> tuple[str, ...]:
    settings, totals = campaign.settings, workspace.totals(campaign)
    tasks, events = workspace.tasks(campaign), workspace.events(campaign)
    last = f"{events[-1].kind} {events[-1].text}".strip() if events else ""
    return (
        f"{campaign.id}: {escape(', '.join(settings.suites))}",
        escape(settings.generator),
        escape(settings.strategy),
        f"{totals.solved} of {len(tasks)}",
        f"{totals.done} of {settings.budget * len(tasks)}",
        money(totals),
        escape(last),
    )
