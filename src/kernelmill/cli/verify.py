"""`kernelmill verify`: put candidates through the gates and show the verdicts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend as BackendContract
from kernelmill.candidate import Candidate, Origin, read_candidate
from kernelmill.cli.options import AllowUnsandboxed, Backend, Scale, Threads
from kernelmill.cli.terminal import wide_console
from kernelmill.errors import UsageError
from kernelmill.judge import Judge, Latency, Settings, Verdict
from kernelmill.report.tables import COLOURS, baseline_of, circumstances, compile_cell
from kernelmill.tasks import TaskFile, load_suite

_REFUSED = 1


class _Job(NamedTuple):
    task: TaskFile
    candidate: Candidate


def verify(
    task: Annotated[str, typer.Argument(help="A task: suite/name, a file; or a whole suite.")],
    candidate: Annotated[
        Path | None,
        typer.Argument(
            help="A folder with model.py or kernel.cpp, or one file. Default: the shipped examples."
        ),
    ] = None,
    backend: Backend = "cpp",
    scale: Scale = None,
    threads: Threads = None,
    rounds: Annotated[int, typer.Option(min=5, help="Timed rounds.")] = 24,
    compiled: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Also measure torch.compile.")
    ] = True,
    json: Annotated[
        Path | None, typer.Option(help="Write the verdicts, one JSON object a line, to this file.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
) -> None:
    """Judge a candidate against a task: integrity, build, correctness, latency.

    Exit code 0: all passed; 1: some were refused; 2: bad input.
    """
    target = get_backend(backend)
    jobs = list(_jobs(load_suite(task), candidate, target))
    settings = Settings(
        threads=threads or Settings().threads, rounds=rounds, allow_unsandboxed=allow_unsandboxed
    )
    console = wide_console()
    verdicts = []
    with Judge(target, settings) as judge:
        for job in jobs:
            with console.status(f"judging {job.candidate.name} on {job.task.id}"):
                described = judge.describe(job.task, scale)
                verdict = judge.verify(described, job.candidate, compiled)
            verdicts.append(verdict)
            if json is not None:
                _append(json, verdict, first=len(verdicts) == 1)
            if not verdict.passed:
                _print_refusal(console, verdict)
    console.print(_table(verdicts))
    for verdict in verdicts:
        for told in (verdict.diagnosis, verdict.modelled):
            if told is not None:
                console.print(escape(f"{verdict.task}: {told.text()}"), highlight=False)
    console.print(_summary(verdicts), highlight=False)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(_REFUSED)


def _jobs(
    tasks: tuple[TaskFile, ...], candidate: Path | None, backend: BackendContract
) -> Iterator[_Job]:
    if candidate is not None:
        if len(tasks) != 1:
            raise UsageError(f"{len(tasks)} tasks for one candidate: name one task of the suite")
        yield _Job(tasks[0], read_candidate(candidate, _origin(candidate, backend)))
        return
    found = False
    for task in tasks:
        folder = backend.examples() / task.id
        if folder.is_dir():
            found = True
            yield _Job(task, read_candidate(folder, Origin.SHIPPED))
    if not found:
        raise UsageError(f"backend {backend.name} ships no examples for these: name a candidate")


def _origin(candidate: Path, backend: BackendContract) -> Origin:
    shipped = candidate.resolve().is_relative_to(backend.examples().resolve())
    return Origin.SHIPPED if shipped else Origin.FILE


def _append(path: Path, verdict: Verdict, first: bool) -> None:
    try:
        with path.open("wb" if first else "ab") as file:
            file.write(verdict.to_json_line())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _print_refusal(console: Console, verdict: Verdict) -> None:
    console.print(f"[red]refused[/red] {verdict.task} at {verdict.gate}")
    for feedback in verdict.feedback:
        console.print(escape(feedback.text()), highlight=False, soft_wrap=True)


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("task", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    baseline = baseline_of(_latencies(verdicts))
    for name in ("kernel ms", f"{baseline} ms", f"over {baseline}", "over compile"):
        table.add_column(name, no_wrap=True, justify="right")
    for verdict in verdicts:
        table.add_row(verdict.task, *_cells(verdict))
    return table


def _cells(verdict: Verdict) -> tuple[str, ...]:
    latency = verdict.latency
    if not verdict.passed or latency is None:
        return (f"[red]refused: {verdict.gate}[/red]", "", "", "", "")
    says = latency.over_eager.verdict
    return (
        f"[{COLOURS[says]}]{says}[/{COLOURS[says]}]",
        f"{latency.candidate_ms:.3f}",
        f"{latency.eager_ms:.3f}",
        escape(str(latency.over_eager)),
        escape(compile_cell(latency)),
    )


def _summary(verdicts: list[Verdict]) -> str:
    passed = _latencies(verdicts)
    faster = sum(latency.over_eager.verdict == "faster" for latency in passed)
    text = f"{len(passed)} of {len(verdicts)} correct, {faster} faster than {baseline_of(passed)}"
    if verdicts:
        text += f"\n{circumstances(verdicts[-1].evidence, passed)}"
    return text


def _latencies(verdicts: list[Verdict]) -> list[Latency]:
    return [v.latency for v in verdicts if v.passed and v.latency is not None]
