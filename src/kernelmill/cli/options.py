"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Backend = Annotated[str, typer.Option(help="The target: a backend's name.")]
Scale = Annotated[
    str | None,
    typer.Option(
        help="Sizes of the tasks: cpu, gpu, npu, emulated; what suits the backend by default."
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads for both sides; all processors by default.")
]
AllowUnsandboxed = Annotated[
    bool,
    typer.Option(
        "--allow-unsandboxed",
        help="Run foreign code even where this machine cannot confine it.",
    ),
]
DEFAULT_WORKSPACE = Path("kernelmill-workspace")
Workspace = Annotated[Path, typer.Option(help="The folder of the workspace.")]
Campaign = Annotated[
    int | None, typer.Option("--campaign", min=1, help="Its number; the latest by default.")
]
MaxMinutes = Annotated[
    float | None, typer.Option(min=0.01, help="Begin no attempt after this time.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(help="[ROLE=]NAME[@ENDPOINT]; several without a role take turns by success."),
]
Endpoint = Annotated[str, typer.Option(help="Where models are: an address, or a provider's name.")]
Effort = Annotated[str, typer.Option(help="How hard reasoning models think, e.g. high.")]
ModelFile = Annotated[
    Path | None, typer.Option(help="A file that says more of models: prices, limits, patience.")
]
