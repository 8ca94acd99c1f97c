"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill.api import LEAST_ROUNDS
from kernelmill.records.errors import UsageError

BackendOption = Annotated[str, typer.Option(help="Target of the kernels: NAME or NAME:CHIP.")]
ScaleOption = Annotated[
    str | None,
    typer.Option(help="Sizes of the tasks: cpu, gpu, npu or emulated. Default: the backend's."),
]
NumericsOption = Annotated[
    str | None,
    typer.Option(
        help="Arithmetic of reference, baselines and kernels: framework (PyTorch as installed), "
        "ieee, tf32 or half. Default: framework on a GPU, else ieee."
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, help="CPU threads of kernel and baselines. Default: all processors."),
]
RoundsOption = Annotated[int, typer.Option(min=LEAST_ROUNDS, help="Timed rounds per measurement.")]
DevicesOption = Annotated[
    str,
    typer.Option(help="Numbers of the devices to judge on in parallel, e.g. 0,1. Default: one."),
]
AllowUnsandboxedOption = Annotated[
    bool,
    typer.Option(
        "--allow-unsandboxed",
        help="Run code from models, agents and files even if this machine cannot confine it.",
    ),
]
WorkspaceOption = Annotated[Path, typer.Option(help="Folder of the workspace.")]
CampaignOption = Annotated[
    int | None,
    typer.Option("--campaign", min=1, help="Number of the campaign. Default: the latest."),
]
MaxMinutesOption = Annotated[
    float | None, typer.Option(min=0.01, help="Begin no attempt after this many minutes.")
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[ROLE=]NAME[@ENDPOINT]",
        help="A language model; may be repeated. Models without a role share the remaining roles, "
        "the more successful ones more often.",
    ),
]
EndpointOption = Annotated[
    str, typer.Option(help="Endpoint of models that name none: a URL, or a provider's name.")
]
EffortOption = Annotated[str, typer.Option(help="Effort of reasoning models, e.g. high.")]
ModelFileOption = Annotated[
    Path | None, typer.Option(help="TOML file with prices, limits and timeouts of models.")
]


LogOption = Annotated[
    Path | None, typer.Option(help="Append every event to this file, one JSON object per line.")
]
HostOption = Annotated[
    str,
    typer.Option(
        help="Address to listen on. Beyond this machine a token is needed, which is printed, or "
        "taken from KERNELMILL_TOKEN."
    ),
]


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a comma-separated list. Raises UsageError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdigit() for part in parts):
        raise UsageError(f"not a comma-separated list of numbers: {text}")
    return tuple(int(part) for part in parts)
