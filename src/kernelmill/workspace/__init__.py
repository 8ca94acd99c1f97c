"""The workspace: one folder, one database that campaigns write and everybody reads."""

from kernelmill.workspace.database import Transaction
from kernelmill.workspace.records import (
    Attempt,
    Best,
    Campaign,
    CampaignSettings,
    CampaignTask,
    Claim,
    Event,
    NewTask,
    Observation,
    Outcome,
    Planned,
    Result,
    Seconds,
    Spending,
    State,
    Totals,
    VerdictKind,
)
from kernelmill.workspace.workspace import Workspace

__all__ = [
    "Attempt",
    "Best",
    "Campaign",
    "CampaignSettings",
    "CampaignTask",
    "Claim",
    "Event",
    "NewTask",
    "Observation",
    "Outcome",
    "Planned",
    "Result",
    "Seconds",
    "Spending",
    "State",
    "Totals",
    "Transaction",
    "VerdictKind",
    "Workspace",
]
