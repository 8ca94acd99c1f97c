"""`kernelmill report`: what a campaign reached."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill.cli.options import DEFAULT_WORKSPACE, Campaign
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.report import conclusion, spending_table, summarise, task_table, write_page
from kernelmill.workspace import Workspace


def report(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: Campaign = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots to this file.")] = None,
) -> None:
    """Print the table of a campaign with its evidence; --html writes a page with plots."""
    console = wide_console()
    with Workspace(workspace) as opened:
        summary = summarise(opened, opened.campaign(campaign))
    console.print(task_table(summary))
    if summary.spending:
        console.print(spending_table(summary.spending))
    console.print(conclusion(summary), highlight=False, markup=False, soft_wrap=True)
    if html is not None:
        write_page(summary, html)
