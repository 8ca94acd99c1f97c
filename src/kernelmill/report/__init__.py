"""Reports on a campaign: figures, tables and plots, read from the workspace."""

from kernelmill.report.page import write_page
from kernelmill.report.spending import spending_table
from kernelmill.report.summary import CampaignSummary, summarise_campaign
from kernelmill.report.tables import conclusion, money, task_table

__all__ = [
    "CampaignSummary",
    "conclusion",
    "money",
    "spending_table",
    "summarise_campaign",
    "task_table",
    "write_page",
]
