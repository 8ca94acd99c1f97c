"""`kernelmill report`: the results of a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.campaigns import print_summary
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import CampaignOption, WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.report import summarise_campaign, write_page
from kernelmill.workspace import Workspace


def report_command(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write an HTML page with plots to this file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the results of a campaign, with their evidence."""
    with Workspace(workspace) as opened:
        summary = summarise_campaign(opened, opened.campaign(campaign))
    if json:
        print_json(summary)
    else:
        print_summary(wide_console(), summary)
    if html is not None:
        write_page(summary, html)
