"""The workspace: a folder with one database, written by campaigns and read by reports."""

from kernelmill.records.attempt import (
    Attempt,
    AttemptOutcome,
    AttemptPlan,
    Claim,
    Observation,
    Result,
    Seconds,
    State,
    VerdictKind,
)
from kernelmill.records.campaign import (
    Best,
    Campaign,
    CampaignSettings,
    CampaignTask,
    Event,
    EventKind,
    NewTask,
    Spending,
    Totals,
)
from kernelmill.workspace.database import Transaction
from kernelmill.workspace.workspace import Workspace

__all__ = [
    "Attempt",
    "AttemptOutcome",
    "AttemptPlan",
    "Best",
    "Campaign",
    "CampaignSettings",
    "CampaignTask",
    "Claim",
    "Event",
    "EventKind",
    "NewTask",
    "Observation",
    "Result",
    "Seconds",
    "Spending",
    "State",
    "Totals",
    "Transaction",
    "VerdictKind",
    "Workspace",
]
