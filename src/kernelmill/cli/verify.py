"""`kernelmill verify`: judge candidates and print the verdicts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill import api
from kernelmill.api import ROUNDS
from kernelmill.cli.options import (
    AllowUnsandboxedOption,
    BackendOption,
    NumericsOption,
    RoundsOption,
    ScaleOption,
    ThreadsOption,
)
from kernelmill.cli.terminal import print_prose, wide_console
from kernelmill.records.errors import UsageError
from kernelmill.records.numerics import Numerics
from kernelmill.records.verdict import Latency, Verdict
from kernelmill.report.fitting import fitting_table
from kernelmill.report.tables import (
    baseline_of,
    circumstances,
    coloured,
    heading,
    ratio_cell,
    verdict_columns,
)

_REFUSED = 1


def verify_command(
    task: Annotated[
        str,
        typer.Argument(help="A task: suite/name, or a file. Without a candidate, also a suite."),
    ],
    candidate: Annotated[
        Path | None,
        typer.Argument(
            help="A folder with the sources of a kernel, or one file. "
            "Default: the examples that come with the backend."
        ),
    ] = None,
    backend: BackendOption = "cpp",
    scale: ScaleOption = None,
    numerics: NumericsOption = None,
    threads: ThreadsOption = None,
    rounds: RoundsOption = ROUNDS,
    compiled: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Also measure torch.compile.")
    ] = True,
    json: Annotated[
        Path | None, typer.Option(help="Write the verdicts to this file, one JSON object per line.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxedOption = False,
) -> None:
    """Judge a kernel: integrity, build, correctness, latency.

    Exit code 0: all passed. 1: some were refused. 2: bad input.
    """
    console = wide_console()

    def verdicts() -> Iterator[Verdict]:
        if candidate is not None:
            yield api.verify(
                task,
                candidate,
                backend=backend,
                scale=scale,
                numerics=numerics,
                threads=threads,
                rounds=rounds,
                compiled=compiled,
                allow_unsandboxed=allow_unsandboxed,
            )
            return
        yield from api.verify_examples(
            task,
            backend=backend,
            scale=scale,
            numerics=numerics,
            threads=threads,
            rounds=rounds,
            compiled=compiled,
            allow_unsandboxed=allow_unsandboxed,
            progress=lambda name: status.update(f"judging the example for {escape(name)}"),
        )

    done: list[Verdict] = []
    with console.status(f"judging {escape(str(candidate or 'the examples'))}") as status:
        for verdict in verdicts():
            done.append(verdict)
            if json is not None:
                _append(json, verdict, first=len(done) == 1)
            if not verdict.passed:
                _print_refusal(console, verdict)
    print_verdicts(console, done)
    if not all(verdict.passed for verdict in done):
        raise typer.Exit(_REFUSED)


def _append(path: Path, verdict: Verdict, first: bool) -> None:
    try:
        with path.open("wb" if first else "ab") as file:
            file.write(verdict.to_json_line())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _print_refusal(console: Console, verdict: Verdict) -> None:
    console.print(f"[red]refused[/red] {escape(verdict.task)} at {verdict.gate}")
    for feedback in verdict.feedback:
        console.print(escape(feedback.text()), highlight=False, soft_wrap=True)


def print_verdicts(console: Console, verdicts: list[Verdict]) -> None:
    console.print(_table(verdicts, console.width))
    for verdict in verdicts:
        for profile in (verdict.diagnosis, verdict.modelled):
            if profile is not None:
                console.print(escape(f"{verdict.task}: {profile.text()}"), highlight=False)
        for line in _reservations(verdict):
            print_prose(console, f"{verdict.task}: {line}")
    print_prose(console, _summary(verdicts))


def _strict_ratio(latency: Latency | None) -> str:
    """The ratio to eager in IEEE arithmetic, where that was measured."""
    if latency is None or latency.ieee_ms is None:
        return ""
    return f"; {latency.ieee_ms / latency.candidate_ms:.2f}x eager in IEEE arithmetic"


def _reservations(verdict: Verdict) -> Iterator[str]:
    """What a passing verdict does not say."""
    if verdict.degenerate:
        yield f"degenerate task: {verdict.degenerate}"
    if verdict.numerics is not Numerics.IEEE:
        yield f"numerics: {verdict.numerics}{_strict_ratio(verdict.latency)}"
    if verdict.passed and verdict.untried:
        yield f"not tried: {'; '.join(verdict.untried)}"


def _table(verdicts: list[Verdict], width: int) -> Table:
    baseline = baseline_of(_latencies(verdicts))
    columns = verdict_columns(width, ("kernel ms", f"{heading(baseline)} ms"), baseline)
    rows = [(escape(verdict.task), *_cells(verdict, width)) for verdict in verdicts]
    return fitting_table(columns, rows, width)


def _cells(verdict: Verdict, width: int) -> tuple[str, ...]:
    latency = verdict.latency
    if not verdict.passed:
        return (f"[red]refused: {verdict.gate}[/red]", "", "", "", "")
    if latency is None:
        return (coloured("correct"), "", "", "", "")
    return (
        coloured(latency.over_baseline.verdict),
        f"{latency.candidate_ms:.3f}",
        f"{latency.baseline_ms:.3f}",
        escape(ratio_cell(latency.over_baseline, width)),
        escape(ratio_cell(latency.over_compile, width)),
    )


def _summary(verdicts: list[Verdict]) -> str:
    passed, timed = sum(verdict.passed for verdict in verdicts), _latencies(verdicts)
    text = f"{passed} of {len(verdicts)} correct"
    if timed or not passed:
        faster = sum(latency.over_baseline.verdict == "faster" for latency in timed)
        text += f", {faster} faster than {baseline_of(timed)}"
    if len(timed) < passed:
        text += f"; {passed - len(timed)} not timed: this machine lacks the backend's device"
    if verdicts:
        text += f"\n{circumstances(verdicts[-1].evidence, timed)}"
    return text


def _latencies(verdicts: list[Verdict]) -> list[Latency]:
    return [v.latency for v in verdicts if v.passed and v.latency is not None]
