"""`kernelmill resume`: continue a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill import api
from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.campaigns import print_result, watching
from kernelmill.cli.event_log import logging_to
from kernelmill.cli.options import (
    CampaignOption,
    DevicesOption,
    LogOption,
    MaxMinutesOption,
    numbers,
)
from kernelmill.cli.terminal import wide_console


def resume_command(
    workspace: Annotated[Path, typer.Argument(help="Folder of the workspace.")] = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Attempts per task. Default: as before.")
    ] = None,
    devices: DevicesOption = "",
    max_minutes: MaxMinutesOption = None,
    max_usd: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Most that models may cost, with what they have cost so far. Default: as before.",
        ),
    ] = None,
    log: LogOption = None,
) -> None:
    """Continue a campaign, whether it ended, was interrupted or killed."""
    console = wide_console()
    with watching(console) as shown, logging_to(log, shown) as watcher:
        result = api.resume(
            workspace,
            campaign=campaign,
            budget=budget,
            devices=numbers(devices) if devices else None,
            max_minutes=max_minutes,
            max_usd=max_usd,
            watcher=watcher,
        )
    print_result(console, result)
