"""Options that several verbs share."""

from typing import Annotated

import typer

Backend = Annotated[str, typer.Option(help="The target: a backend's name.")]
Scale = Annotated[str, typer.Option(help="Sizes of the built-in tasks: cpu or gpu.")]
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
