"""`kernelmill prompt`: the prompt that a model would be sent next."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.campaign.prompting import next_prompt
from kernelmill.cli.options import (
    BackendOption,
    CampaignOption,
    NumericsOption,
    ScaleOption,
    WorkspaceOption,
)
from kernelmill.records.model_settings import PROMPT_TOKENS
from kernelmill.records.proposal import Stage


def prompt_command(
    task: Annotated[str, typer.Argument(help="A task: suite/name, or a file.")],
    stage: Annotated[
        Stage | None,
        typer.Option(help="Start from nothing, or from the best attempt. Default: what is next."),
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="Search strategy. Default: that of the campaign.")
    ] = "",
    backend: BackendOption = "cpp",
    scale: ScaleOption = None,
    numerics: NumericsOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    prompt_tokens: Annotated[
        int, typer.Option(min=1, help="Most tokens of the prompt.")
    ] = PROMPT_TOKENS,
) -> None:
    """Print the next prompt for a task, without sending it.

    It is what a campaign with a language model would send, with what the workspace has learned. If
    a plan or a diagnosis comes first, it is that prompt.
    """
    role, made = next_prompt(
        task,
        workspace,
        backend=backend,
        campaign=campaign,
        stage=stage,
        strategy=strategy,
        scale=scale,
        numerics=numerics,
        prompt_tokens=prompt_tokens,
    )
    sys.stdout.write(f"=== system\n{made.system}\n=== user\n{made.user}")
    Console(stderr=True).print(
        f"for the {role}: about {made.tokens} tokens; left out: {len(made.left_out)}",
        highlight=False,
    )
