"""Reports: a campaign in figures, tables and plots."""

from kernelmill.report.page import write_page
from kernelmill.report.spending import spending_table
from kernelmill.report.summary import Summary, summarise
from kernelmill.report.tables import conclusion, money, task_table

__all__ = [
    "Summary",
    "conclusion",
    "money",
    "spending_table",
    "summarise",
    "task_table",
    "write_page",
]
