"""`kernelmill mcp`: let a coding agent write the kernels."""

from typing import Annotated

import typer

from kernelmill.api import DEFAULT_WORKSPACE, ROUNDS
from kernelmill.backends import get_backend
from kernelmill.cli.options import (
    AllowUnsandboxedOption,
    BackendOption,
    HostOption,
    MaxMinutesOption,
    NumericsOption,
    RoundsOption,
    ScaleOption,
    ThreadsOption,
    WorkspaceOption,
)
from kernelmill.cli.terminal import wide_console
from kernelmill.judge import JudgeSettings
from kernelmill.judge.devices import resolve_numerics
from kernelmill.records.campaign import CampaignSettings
from kernelmill.records.errors import UsageError


def mcp_command(
    suites: Annotated[
        list[str], typer.Argument(metavar="SUITE", help="Suites, tasks, task files or folders.")
    ],
    backend: BackendOption = "cpp",
    strategy: Annotated[
        str, typer.Option(help="Chooses what the agent is shown: NAME or NAME:SETTINGS.")
    ] = "value",
    budget: Annotated[int, typer.Option(min=1, help="Attempts per task.")] = 30,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    max_minutes: MaxMinutesOption = None,
    threads: ThreadsOption = None,
    scale: ScaleOption = None,
    numerics: NumericsOption = None,
    rounds: RoundsOption = ROUNDS,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead of stdio.")
    ] = False,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any.")] = 8766,
    allow_unsandboxed: AllowUnsandboxedOption = False,
) -> None:
    """Serve a campaign to a coding agent over the Model Context Protocol.

    A campaign with the same settings in the workspace is continued.
    """
    try:
        from kernelmill.mcp.agent_campaign import GENERATOR, AgentCampaign, AgentCampaignSettings
        from kernelmill.mcp.server import make_server
        from kernelmill.serving.running import bind
    except ImportError as error:
        raise UsageError(
            f"the MCP server needs {error.name}: pip install -e '.[mcp]' in the checkout"
        ) from error
    target = get_backend(backend)
    settings = CampaignSettings(
        suites=tuple(suites),
        backend=target.target,
        generator=GENERATOR,
        strategy=strategy,
        budget=budget,
        seed=seed,
        scale=scale or target.scale,
        numerics=resolve_numerics(target, numerics),
        threads=threads or JudgeSettings().threads,
        compiled=False,
        allow_unsandboxed=allow_unsandboxed,
        rounds=rounds,
    )
    with AgentCampaign(AgentCampaignSettings(settings, workspace, max_minutes)) as campaign:
        server = make_server(campaign)
        if not http:
            server.run("stdio")
            return
        bound = bind(server.streamable_http_app(host=host), host, port)
        address = bound.address
        said = f"http://{address.host}:{address.port}/mcp"
        if address.token:
            said += f"  (header: Authorization: Bearer {address.token})"
        wide_console().print(said, highlight=False, markup=False, soft_wrap=True)
        bound.run()
