"""`kernelmill status`: the campaigns of a workspace."""

from rich import box
from rich.markup import escape
from rich.table import Table

from kernelmill.cli.options import DEFAULT_WORKSPACE
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.report import money
from kernelmill.workspace import Workspace


def status(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """List the campaigns of a workspace: how far they are, what they solved and cost."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (
        "campaign",
        "tasks",
        "generator",
        "strategy",
        "attempts",
        "solved",
        "cost",
        "last",
    ):
        table.add_column(name)
    with Workspace(workspace) as opened:
        for campaign in opened.campaigns():
            settings, totals = campaign.settings, opened.totals(campaign)
            tasks = opened.tasks(campaign)
            events = opened.events(campaign)
            last = f"{events[-1].kind} {events[-1].text}".strip() if events else ""
            table.add_row(
                f"{campaign.id}: {escape(', '.join(settings.suites))}",
                str(len(tasks)),
                escape(settings.generator),
                settings.strategy,
                f"{totals.done} of {settings.budget * len(tasks)}",
                str(totals.solved),
                money(totals),
                escape(last),
            )
    wide_console().print(table)
