"""`kernelmill schema`: the JSON that read verbs print, as JSON Schema."""

from typing import Annotated, Any

import typer

from kernelmill.cli.json_output import print_json, schema_of
from kernelmill.cli.json_records import (
    BackendLine,
    Explanation,
    Finding,
    MachineReport,
    MemoryReport,
    SkillRecord,
    TaskLine,
)
from kernelmill.cli.terminal import wide_console
from kernelmill.cli.workspace import WorkspaceSize
from kernelmill.deploy.optimize_report import OptimizeReport, RegionRow
from kernelmill.records.errors import UsageError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.report.listing import AttemptDetail, CampaignLine
from kernelmill.report.record import CampaignReport

SCHEMAS: dict[str, Any] = {
    "backend list": list[BackendLine],
    "doctor": MachineReport,
    "extract": tuple[RegionRow, ...],
    "memory audit": list[Finding],
    "memory explain": Explanation,
    "memory show": MemoryReport,
    "patch": OptimizeReport,
    "report": CampaignReport,
    "show": AttemptDetail,
    "skills list": list[SkillRecord],
    "status": list[CampaignLine],
    "tasks list": list[TaskLine],
    "tasks show": list[Task],
    "verify": Verdict,
    "workspace size": WorkspaceSize,
}
"""By command; `verify --json FILE` writes one such object per line."""


def schema_command(
    command: Annotated[
        list[str] | None, typer.Argument(help="A command, such as `status`. Default: list them.")
    ] = None,
) -> None:
    """Print the schema of the JSON that a command prints with --json."""
    name = " ".join(command or ())
    if not name:
        wide_console().print("\n".join(SCHEMAS), highlight=False, markup=False)
        return
    if name not in SCHEMAS:
        raise UsageError(f"no command {name!r} prints JSON; these do: {', '.join(SCHEMAS)}")
    print_json(schema_of(SCHEMAS[name]))
