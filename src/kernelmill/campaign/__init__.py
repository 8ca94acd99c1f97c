"""Campaigns: strategy, generator, backend and suite at work under one budget."""

from kernelmill.campaign.campaign import Crew, run_campaign
from kernelmill.campaign.limits import Ending, Limits
from kernelmill.campaign.watcher import Watcher

__all__ = ["Crew", "Ending", "Limits", "Watcher", "run_campaign"]
