"""`kernelmill report`: the results of a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.campaigns import print_summary
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import CampaignOption, WorkspaceOption
from kernelmill.cli.terminal import print_prose, wide_console
from kernelmill.report import summarise_campaign, write_page
from kernelmill.report.comparing import compare_campaigns, comparison_table
from kernelmill.report.exporting import as_csv, as_markdown, write_text
from kernelmill.report.record import report_record
from kernelmill.workspace import Workspace


def report_command(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write one HTML file with plots and sources.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write Markdown to this file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write CSV, one line per task.")] = None,
    against: Annotated[
        int | None, typer.Option(min=1, help="Compare with this campaign, task by task.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the results of a campaign, with their evidence."""
    comparison = None
    with Workspace(workspace) as opened:
        summary = summarise_campaign(opened, opened.campaign(campaign))
        if against is not None:
            first = summarise_campaign(opened, opened.campaign(against))
            comparison = compare_campaigns(first, summary)
    if html is not None:
        write_page(summary, html, comparison)
    if markdown is not None:
        write_text(as_markdown(summary), markdown)
    if csv is not None:
        write_text(as_csv(summary), csv)
    if json:
        print_json(report_record(summary, comparison))
        return
    console = wide_console()
    print_summary(console, summary)
    if comparison is not None:
        console.print(comparison_table(comparison, console.width))
        print_prose(console, comparison.conclusion())
