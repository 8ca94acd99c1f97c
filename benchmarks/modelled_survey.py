"""Which tasks of the suites can be judged on a modelled backend, and how long a verdict takes.

    python benchmarks/modelled_survey.py BACKEND [SUITE or SUITE/TASK...] [--every N] [--json FILE]

A task counts as judged where a plain form of it passes all gates as a candidate. For the others the
reason is printed. The form is its own baseline, so a verdict's time has no other in it. Tasks that
the backend declines by name are counted apart.
"""

import argparse
import json
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
from kernelmill.tasks import TaskFile, load_suite

SUITES = ("starter", "basic", "fused", "attention", "hyper")
_MAX_REASON = 160
_DECLINED = "declined: lacks "


class Surveyed(NamedTuple):
    task: str
    judged: bool
    seconds: float
    """Time of the verdict that passed, or of the last one."""
    cycles: float
    form: int
    """Number of the form that passed, from 0."""
    reason: str

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
        return _judge_forms(judge, task)
    except TaskError as error:
        return Surveyed(file.id, False, 0.0, 0.0, 0, f"task: {error}")


def _judge_forms(judge: Judge, task: Task) -> Surveyed:
    reasons: list[str] = []
    seconds = 0.0
    try:
        for number, files in enumerate(write_baselines(judge.backend.name, task)):
            begun = time.perf_counter()
            verdict = judge.verify(task, Candidate(files, Origin.COMPOSER, "plain form"))
            seconds = time.perf_counter() - begun
            if verdict.passed and verdict.modelled is not None:
                return Surveyed(task.id, True, seconds, verdict.modelled.cycles, number, "")
            reasons.append(_reason(verdict))
            if verdict.gate != "build" and verdict.feedback[0].kind != "not-executable":
                break
    except BaselineMissing as missing:
        reasons.append(f"no plain form: {missing}")
    return Surveyed(task.id, False, seconds, 0.0, len(reasons), reasons[-1] if reasons else "?")


def _reason(verdict: Verdict) -> str:
    first = verdict.feedback[0]
    return f"{verdict.gate}: {first.kind}: {first.summary} {' '.join(first.evidence)}"[:_MAX_REASON]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend")
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    parser.add_argument("--every", type=int, default=1, help="take one of every N tasks")
    parser.add_argument("--json", type=Path, help="append one line per task to this file")
    return parser.parse_args()


def _files(options: argparse.Namespace) -> Iterator[TaskFile]:
    for suite in options.suites or SUITES:
        yield from load_suite(suite)[:: options.every]


def main() -> None:
    options = _parse()
    found: list[Surveyed] = []
    backend = get_backend(options.backend)
    assert isinstance(backend, ModelledBackend)
    backend.baselines = lambda *_: iter(())  # type: ignore[method-assign]
    with Judge(backend, JudgeSettings(seconds=120.0)) as judge:
        for file in _files(options):
            found.append(survey(judge, file))
            one = found[-1]
            word = "judged" if one.judged else "no    "
            print(f"{one.task:48} {word} {one.seconds:7.1f} s  {one.reason}", flush=True)
            if options.json:
                with options.json.open("a") as lines:
                    lines.write(json.dumps(one._asdict()) + "\n")
    for line in table(found):
        print(line)


def table(found: list[Surveyed]) -> Iterator[str]:
    """One row per suite, as Markdown."""
    yield "| suite | tasks | declined by name | judged | not judged | median s | p90 s |"
    yield "|---|---|---|---|---|---|---|"
    suites = list(dict.fromkeys(one.suite for one in found))
    for suite in [*suites, *(["all"] if len(suites) > 1 else [])]:
        tasks = [one for one in found if suite in (one.suite, "all")]
        judged = sorted(one.seconds for one in tasks if one.judged)
        declined = sum(one.declined for one in tasks)
        times = [f"{statistics.median(judged):.1f}" if judged else "-"]
        times.append(f"{statistics.quantiles(judged, n=10)[-1]:.1f}" if len(judged) > 1 else "-")
        others = len(tasks) - declined - len(judged)
        yield (
            f"| {suite} | {len(tasks)} | {declined} | {len(judged)} | {others} | "
            f"{' | '.join(times)} |"
        )


if __name__ == "__main__":
    main()
