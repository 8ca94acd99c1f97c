"""Which tasks of the suites can be judged on a modelled backend, and how long a verdict takes.

    python benchmarks/modelled_survey.py BACKEND [SUITE or SUITE/TASK...] [--every N] [--first K]
        [--json FILE] [--minutes M]

A task counts as judged where a plain form of it passes all gates as a candidate. For the others the
reason is printed. The form is its own baseline, so a verdict's time has no other in it. Tasks that
the backend declines by name are counted apart.

The time of a verdict is that of a task which is ready: its cases are made once per campaign. On a
busy machine the processor seconds say more than the seconds. They are those of all processes that
the verdict started.

With a file, a survey that was stopped goes on where it was: tasks of the file are not judged again,
and the table has them.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends import get_backend
from kernelmill.backends.baselines import write_baselines
from kernelmill.backends.modelled import BaselineMissing, ModelledBackend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.sandbox.processes import descendants, stat_fields
from kernelmill.tasks import TaskFile, load_suite

SUITES = ("starter", "basic", "fused", "attention", "hyper")
_SECONDS_OF_FORMS = 300.0
_MAX_REASON = 160
_DECLINED = "declined: lacks "
_TIMES = slice(11, 15)
"""Processor time of a process and of its children that have ended, in the fields of its stat."""


class Surveyed(NamedTuple):
    task: str
    judged: bool
    seconds: float
    """Time of the verdict that passed, or of the last one."""
    cycles: float
    form: int
    """Number of the form that passed, from 0."""
    reason: str
    processor_seconds: float = 0.0
    """Of that verdict."""
    ready_processor_seconds: float = 0.0
    """Of getting the task ready before."""

    @property
    def suite(self) -> str:
        return self.task.partition("/")[0]

    @property
    def declined(self) -> bool:
        return self.reason.startswith(_DECLINED)


def survey(judge: Judge, file: TaskFile) -> Surveyed:
    try:
        task = judge.describe(file)
        lacking = judge.backend.lacks(task)
        if lacking:
            return Surveyed(file.id, False, 0.0, 0.0, 0, f"{_DECLINED}{lacking}")
        used = _processor_seconds()
        judge.get_ready(task)
        used = _processor_seconds() - used
        return _judge_forms(judge, task)._replace(ready_processor_seconds=used)
    except TaskError as error:
        return Surveyed(file.id, False, 0.0, 0.0, 0, f"task: {error}")


def _judge_forms(judge: Judge, task: Task) -> Surveyed:
    """Try one form after the other, as the judge does for a baseline."""
    reasons: list[str] = []
    seconds = 0.0
    end = time.monotonic() + _SECONDS_OF_FORMS
    try:
        for number, files in enumerate(write_baselines(judge.backend.name, task)):
            begun, used = time.perf_counter(), _processor_seconds()
            verdict = judge.verify(task, Candidate(files, Origin.COMPOSER, "plain form"))
            seconds, used = time.perf_counter() - begun, _processor_seconds() - used
            if verdict.passed and verdict.modelled is not None:
                return Surveyed(task.id, True, seconds, verdict.modelled.cycles, number, "", used)
            reasons.append(_reason(verdict))
            if time.monotonic() > end:
                break
    except BaselineMissing as missing:
        reasons.append(f"no plain form: {missing}")
    return Surveyed(task.id, False, seconds, 0.0, len(reasons), reasons[-1] if reasons else "?")


def _processor_seconds() -> float:
    pids = (os.getpid(), *descendants(os.getpid()))
    ticks = sum(int(ticks) for pid in pids for ticks in stat_fields(pid)[_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")


def _reason(verdict: Verdict) -> str:
    first = verdict.feedback[0]
    return f"{verdict.gate}: {first.kind}: {first.summary} {' '.join(first.evidence)}"[:_MAX_REASON]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend")
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    parser.add_argument("--every", type=int, default=1, help="take one of every N tasks")
    parser.add_argument("--first", type=int, default=0, help="begin with this task, from 0")
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of an answer")
    parser.add_argument("--json", type=Path, help="append one line per task to this file")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no task after this time"
    )
    return parser.parse_args()


def _files(options: argparse.Namespace) -> Iterator[TaskFile]:
    for suite in options.suites or SUITES:
        yield from load_suite(suite)[options.first :: options.every]


def main() -> None:
    options = _parse()
    found = {one.task: one for one in _surveyed_before(options.json)}
    until = time.monotonic() + 60 * options.minutes
    backend = get_backend(options.backend)
    assert isinstance(backend, ModelledBackend)
    backend.baselines = lambda *_: iter(())  # type: ignore[method-assign]
    with Judge(backend, JudgeSettings(seconds=options.seconds)) as judge:
        files = list(_files(options))
        for file in files:
            if file.id in found or time.monotonic() > until:
                continue
            one = found[file.id] = survey(judge, file)
            word = "judged" if one.judged else "no    "
            times = f"{one.seconds:7.1f} s {one.processor_seconds:7.1f} s of processors"
            print(f"{one.task:48} {word} {times}  {one.reason}", flush=True)
            if options.json:
                with options.json.open("a") as lines:
                    lines.write(json.dumps(one._asdict()) + "\n")
    asked = [found[file.id] for file in files if file.id in found]
    print(f"{len(asked)} of {len(files)} tasks surveyed")
    for line in table(asked):
        print(line)


def _surveyed_before(path: Path | None) -> list[Surveyed]:
    if path is None or not path.exists():
        return []
    return [Surveyed(**json.loads(line)) for line in path.read_text().splitlines()]


def table(found: list[Surveyed]) -> Iterator[str]:
    """One row per suite, as Markdown."""
    yield (
        "| suite | tasks | declined by name | judged | not judged | median s | p90 s | "
        "median processor s | p90 processor s | median processor s to get ready |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    suites = list(dict.fromkeys(one.suite for one in found))
    for suite in [*suites, *(["all"] if len(suites) > 1 else [])]:
        tasks = [one for one in found if suite in (one.suite, "all")]
        judged = [one for one in tasks if one.judged]
        declined = sum(one.declined for one in tasks)
        times = [
            *_quantiles([one.seconds for one in judged]),
            *_quantiles([one.processor_seconds for one in judged]),
            _quantiles([one.ready_processor_seconds for one in judged])[0],
        ]
        others = len(tasks) - declined - len(judged)
        yield (
            f"| {suite} | {len(tasks)} | {declined} | {len(judged)} | {others} | "
            f"{' | '.join(times)} |"
        )


def _quantiles(seconds: list[float]) -> tuple[str, str]:
    """Median and p90."""
    if len(seconds) < 2:
        return (f"{seconds[0]:.1f}" if seconds else "-", "-")
    return (
        f"{statistics.median(seconds):.1f}",
        f"{statistics.quantiles(seconds, n=10, method='inclusive')[-1]:.1f}",
    )


if __name__ == "__main__":
    main()
