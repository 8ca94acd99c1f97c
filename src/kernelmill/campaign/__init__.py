"""Campaigns: the search for fast kernels over suites of tasks, under one budget."""

from kernelmill.campaign.components import Components
from kernelmill.campaign.limits import Ending, RunLimits
from kernelmill.campaign.running import run_campaign
from kernelmill.campaign.watcher import Watcher

__all__ = ["Components", "Ending", "RunLimits", "Watcher", "run_campaign"]
