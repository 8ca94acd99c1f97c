"""Starting and reopening campaigns: everything is checked and open, nothing is attempted yet."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.campaign.components import Components, find_plugins, open_components
from kernelmill.campaign.preflight import demand_some, describe_tasks, find_tasks
from kernelmill.campaign.watcher import Watcher
from kernelmill.records.campaign import Campaign, CampaignSettings, NewTask
from kernelmill.workspace import Workspace


class OpenCampaign(NamedTuple):
    """A campaign that is ready to run."""

    workspace: Workspace
    campaign: Campaign
    components: Components


@contextmanager
def start_campaign(
    settings: CampaignSettings, folder: Path, watcher: Watcher
) -> Iterator[OpenCampaign]:
    """Create a campaign in a workspace. Raises KernelmillErrors before anything is spent."""
    plugins = find_plugins(settings)
    settings = msgspec.structs.replace(settings, backend=plugins.backend.target)
    entries = find_tasks(settings.suites)
    watcher.loading(0, len(entries))
    with (
        Workspace(folder, create=True) as workspace,
        open_components(settings, plugins) as components,
    ):
        tasks: list[NewTask] = []
        judge = components.judges[0]
        for task in describe_tasks(judge, entries, settings.scale, settings.numerics):
            tasks.append(task)
            watcher.loading(len(tasks), len(entries))
        demand_some(tasks)
        campaign = workspace.create_campaign(settings, tasks)
        yield OpenCampaign(workspace, campaign, components)


@contextmanager
def reopen_campaign(
    folder: Path,
    number: int | None = None,
    change: Callable[[CampaignSettings], CampaignSettings] = lambda settings: settings,
) -> Iterator[OpenCampaign]:
    """Open an existing campaign, by default the latest, with its own settings or changed ones."""
    with Workspace(folder) as workspace:
        campaign = workspace.campaign(number)
        settings = change(campaign.settings)
        plugins = find_plugins(settings, workspace.expenses(campaign).spent_usd)
        with open_components(settings, plugins) as components:
            changed = workspace.change_settings(campaign, settings)
            yield OpenCampaign(workspace, changed, components)
