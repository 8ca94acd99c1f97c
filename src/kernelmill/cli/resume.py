"""`kernelmill resume`: go on with a campaign."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from kernelmill.campaign import Crew, Limits
from kernelmill.cli.campaigns import find_plugins, open_judges, work
from kernelmill.cli.options import DEFAULT_WORKSPACE, Campaign, Devices, MaxMinutes, numbers
from kernelmill.cli.terminal import wide_console
from kernelmill.workspace import Workspace


def resume(
    workspace: Annotated[
        Path, typer.Argument(help="The folder of the workspace.")
    ] = DEFAULT_WORKSPACE,
    campaign: Campaign = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Attempts a task; as before by default.")
    ] = None,
    devices: Devices = "",
    max_minutes: MaxMinutes = None,
    max_usd: Annotated[
        float | None,
        typer.Option(min=0.0, help="In all, with what was spent before; as before by default."),
    ] = None,
) -> None:
    """Go on with a campaign where it ended, however it ended."""
    with Workspace(workspace) as opened:
        chosen = opened.campaign(campaign)
        settings = chosen.settings
        if budget is not None:
            settings = msgspec.structs.replace(settings, budget=budget)
        if devices:
            settings = msgspec.structs.replace(settings, devices=numbers(devices))
        if max_usd is not None:
            settings = msgspec.structs.replace(settings, max_usd=max_usd)
        plugins = find_plugins(settings, opened.expenses(chosen).spent_usd)
        with open_judges(settings, plugins.backend) as (judge, *beside):
            chosen = opened.change_settings(chosen, settings)
            crew = Crew(judge, plugins.generator, plugins.strategy, tuple(beside))
            work(wide_console(), opened, chosen, crew, Limits(settings.max_usd, max_minutes))
