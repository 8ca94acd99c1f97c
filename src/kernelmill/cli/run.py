"""`kernelmill run`: a new campaign over one or more suites."""

from typing import Annotated

import typer

from kernelmill import api
from kernelmill.api import DEFAULT_WORKSPACE, ROUNDS
from kernelmill.cli.campaigns import print_result, watching
from kernelmill.cli.event_log import logging_to
from kernelmill.cli.options import (
    AllowUnsandboxedOption,
    BackendOption,
    DevicesOption,
    EffortOption,
    EndpointOption,
    LogOption,
    MaxMinutesOption,
    ModelFileOption,
    ModelOption,
    NumericsOption,
    RoundsOption,
    ScaleOption,
    ThreadsOption,
    WorkspaceOption,
    numbers,
)
from kernelmill.cli.terminal import wide_console
from kernelmill.generators.model.model_specs import ModelSpec


def run_command(
    suites: Annotated[
        list[str], typer.Argument(metavar="SUITE", help="Suites, tasks, task files or folders.")
    ],
    backend: BackendOption = "cpp",
    generator: Annotated[
        str, typer.Option(help="Writer of the kernels: NAME or NAME:ARGUMENT.")
    ] = "composer",
    strategy: Annotated[
        str, typer.Option(help="Search strategy: NAME or NAME:SETTINGS.")
    ] = "value",
    model: ModelOption = None,
    endpoint: EndpointOption = "",
    effort: EffortOption = "",
    models: ModelFileOption = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Let a model look for cheating in every kernel.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do not reuse cached answers of models.")
    ] = False,
    budget: Annotated[int, typer.Option(min=1, help="Attempts per task.")] = 30,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    max_minutes: MaxMinutesOption = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0.0, help="Most that models may cost in this campaign.")
    ] = None,
    threads: ThreadsOption = None,
    scale: ScaleOption = None,
    numerics: NumericsOption = None,
    rounds: RoundsOption = ROUNDS,
    compiled: Annotated[
        bool,
        typer.Option("--compile/--no-compile", help="Measure champions against torch.compile."),
    ] = True,
    devices: DevicesOption = "",
    allow_unsandboxed: AllowUnsandboxedOption = False,
    sweep: Annotated[
        str,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Sweeps of templates: combinations=8 measures up to 8 of each, 0 refuses "
            "templates; sampler=optuna.",
        ),
    ] = "",
    log: LogOption = None,
) -> None:
    """Search for fast kernels, and keep the best with evidence.

    Ctrl-C finishes the attempts under way and prints the results. `kernelmill resume` continues.
    """
    console = wide_console()
    with watching(console) as shown, logging_to(log, shown) as watcher:
        result = api.run(
            suites,
            backend=backend,
            generator=generator,
            strategy=strategy,
            models=ModelSpec(tuple(model or ()), endpoint, effort, models, audit, cached=not fresh),
            budget=budget,
            workspace=workspace,
            seed=seed,
            max_minutes=max_minutes,
            max_usd=max_usd,
            threads=threads,
            scale=scale,
            numerics=numerics,
            rounds=rounds,
            compiled=compiled,
            devices=numbers(devices),
            allow_unsandboxed=allow_unsandboxed,
            sweep=sweep,
            watcher=watcher,
        )
    print_result(console, result)
