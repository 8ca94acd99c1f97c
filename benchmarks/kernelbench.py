"""KernelBench, searched by us and judged twice: by our judge and by KernelBench's own evaluation.

    python benchmarks/kernelbench.py PATH/TO/KernelBench [--tasks 1/10-100:10 2/10-100:10 3/5-45:10]
        [--backend triton] [--numerics framework] [--budget 1] [--minutes 5] [--check-minutes 3]

Tasks are `LEVEL` or `LEVEL/NUMBERS`; numbers are `7`, `1-50`, `10-100:10` (every tenth), or several
of these with commas. A campaign makes attempts for at most --minutes. Then every champion is put
before KernelBench's evaluation, for at most --check-minutes, each in a new process: see
parts/kernelbench_eval.py. A second start in the same --results folder continues the search of the
same tasks, or searches others, checks what was not checked, and shows everything that the folder
has; with --minutes 0 nothing is searched. Nothing is lost where a run is killed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

import kernelmill
from kernelmill.cli.progress import PlainWatcher
from kernelmill.records.campaign import Campaign
from kernelmill.records.candidate import MODEL_FILE
from kernelmill.report.exporting import reason_of
from kernelmill.report.summary import Speedups, TaskSummary, summarise_campaign
from parts.kernelbench_eval import Job

HERE = Path(__file__).parent
EVALUATION = HERE / "parts" / "kernelbench_eval.py"
TASKS = ("1", "2", "3")


class Problem(msgspec.Struct, frozen=True):
    """One problem of a checkout."""

    level: int
    number: int
    path: Path

    @property
    def name(self) -> str:
        return self.path.stem


class Times(msgspec.Struct, frozen=True):
    """Milliseconds per call; None where they were not taken."""

    ms: float | None = None
    eager_ms: float | None = None
    compile_ms: float | None = None

    @property
    def over_eager(self) -> float | None:
        return _ratio(self.eager_ms, self.ms)

    @property
    def over_compile(self) -> float | None:
        return _ratio(self.compile_ms, self.ms)


class Finding(msgspec.Struct, frozen=True):
    """What one of the two evaluations says of a task."""

    right: bool
    why: str = ""
    """Why it is not right, or was not timed."""
    times: Times = Times()
    seconds: float = 0.0


class Row(msgspec.Struct):
    level: int
    number: int
    name: str
    ours: Finding
    champion: int | None = None
    """The number of the attempt in the workspace."""
    theirs: Finding | None = None
    """None until KernelBench's evaluation has judged it."""


class Results:
    """The folder of the findings: one file per task, so that a killed run loses nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        for part in ("rows", "champions"):
            (folder / part).mkdir(parents=True, exist_ok=True)

    def store(self, row: Row) -> None:
        path = self.folder / "rows" / f"{row.level}_{row.number}.json"
        path.write_bytes(msgspec.json.encode(row))

    def rows(self) -> list[Row]:
        paths = (self.folder / "rows").glob("*.json")
        rows = [msgspec.json.decode(path.read_bytes(), type=Row) for path in paths]
        return sorted(rows, key=lambda row: (row.level, row.number))

    def champion(self, name: str) -> Path:
        return self.folder / "champions" / f"{name}.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--backend", default="triton")
    parser.add_argument("--numerics", default=None)
    parser.add_argument("--budget", type=int, default=1, help="attempts per task")
    parser.add_argument("--minutes", type=float, default=None, help="of search")
    parser.add_argument("--check-minutes", type=float, default=None, help="of KernelBench's part")
    parser.add_argument("--trials", type=int, default=5, help="KernelBench's correctness trials")
    parser.add_argument("--calls", type=int, default=100, help="KernelBench's timed calls; 0: none")
    parser.add_argument("--workers", type=int, default=4, help="KernelBench's checks at once")
    parser.add_argument("--compile", action="store_true", help="torch.compile by our judge, too")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "kernelbench")
    arguments = parser.parse_args()
    console = Console(width=150)
    results = Results(arguments.results)
    problems = find_problems(arguments.checkout, arguments.tasks)
    if arguments.minutes != 0:
        search(problems, arguments, results, console)
    collect(problems, results)
    check(problems, arguments, results, console)
    show(results.rows(), console)


def find_problems(checkout: Path, tasks: Iterable[str]) -> list[Problem]:
    """The problems that are asked for, by number; the levels take turns, so that a search that is
    stopped has seen something of each."""
    wanted: dict[int, dict[int, Problem]] = defaultdict(dict)
    for task in tasks:
        level, _, numbers = task.partition("/")
        there = {one.number: one for one in _level(checkout, int(level))}
        for number in _numbers(numbers) if numbers else there:
            if number in there:
                wanted[int(level)][number] = there[number]
    by_level = [[found[number] for number in sorted(found)] for _, found in sorted(wanted.items())]
    problems = [one for turn in zip_longest(*by_level) for one in turn if one is not None]
    if not problems:
        sys.exit(f"{checkout} has none of the problems {' '.join(tasks)}")
    return problems


def _level(checkout: Path, level: int) -> Iterator[Problem]:
    for path in (checkout / "KernelBench" / f"level{level}").glob("*_*.py"):
        number = path.stem.partition("_")[0]
        if number.isdigit():
            yield Problem(level, int(number), path.resolve())


def _numbers(text: str) -> Iterator[int]:
    """The numbers that `7`, `1-50`, `10-100:10` or several of these with commas name."""
    for part in text.split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        yield from range(int(first), int(last or first) + 1, int(step or 1))


def search(
    problems: list[Problem], arguments: argparse.Namespace, results: Results, console: Console
) -> None:
    """Make attempts on these problems, in the campaign that was begun on them, or a new one."""
    begun = time.monotonic()
    suites = tuple(str(one.path) for one in problems)
    watcher = TimedWatcher(console)
    if (latest := _latest(results.workspace)) and latest.settings.suites == suites:
        result = kernelmill.resume(
            results.workspace,
            budget=arguments.budget,
            max_minutes=arguments.minutes,
            watcher=watcher,
        )
    else:
        result = kernelmill.run(
            suites,
            backend=arguments.backend,
            scale="gpu",
            numerics=arguments.numerics,
            budget=arguments.budget,
            max_minutes=arguments.minutes,
            compiled=arguments.compile,
            workspace=results.workspace,
            watcher=watcher,
        )
    _say(console, f"{result.ending}; {time.monotonic() - begun:.0f} s of search")


def collect(problems: list[Problem], results: Results) -> None:
    """Store what all campaigns so far found, and the champions as files."""
    if not results.workspace.is_dir():
        return
    by_path = {str(one.path): one for one in problems}
    known = {row.name: row for row in results.rows()}
    with kernelmill.Workspace(results.workspace) as workspace:
        for campaign in workspace.campaigns():
            by_name = {Path(path).stem: by_path.get(path) for path in campaign.settings.suites}
            summary = summarise_campaign(workspace, campaign)
            for task in summary.tasks:
                problem, row = by_name[task.name], known.get(task.name)
                if problem is None or not (task.attempts or task.set_aside):
                    continue
                if row is not None and row.champion == task.champion:
                    continue
                files = summary.sources.get(task.name, {})
                if set(files) == {MODEL_FILE}:
                    results.champion(task.name).write_text(files[MODEL_FILE])
                number = problem.number
                results.store(Row(problem.level, number, task.name, _ours(task), task.champion))


class TimedWatcher(PlainWatcher):
    """Says when the campaign began, since describing the tasks takes a while."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._made = time.monotonic()

    def loading(self, loaded: int, tasks: int) -> None:
        super().loading(loaded, tasks)
        if loaded == tasks:
            self._print(f"{tasks} tasks are described after {time.monotonic() - self._made:.0f} s")


def _latest(workspace: Path) -> Campaign | None:
    if not workspace.is_dir():
        return None
    with kernelmill.Workspace(workspace) as opened:
        return opened.campaign() if opened.campaigns() else None


def _ours(task: TaskSummary) -> Finding:
    seconds = task.effort.seconds if task.effort else 0.0
    if task.champion is None or task.latency is None:
        return Finding(task.passed > 0, reason_of(task), seconds=seconds)
    latency = task.latency
    times = Times(latency.candidate_ms, latency.baseline_ms, latency.compile_ms)
    return Finding(True, times=times, seconds=seconds)


def check(
    problems: list[Problem], arguments: argparse.Namespace, results: Results, console: Console
) -> None:
    """Put every champion that was not checked before KernelBench's evaluation."""
    paths = {one.name: one.path for one in problems}
    rows = {row.name: row for row in results.rows() if row.name in paths and row.theirs is None}
    jobs = [
        Job(name, str(paths[name]), str(champion), arguments.backend.partition(":")[0])
        for name, row in rows.items()
        if row.ours.right and (champion := results.champion(name)).exists()
    ]
    if not jobs:
        return
    begun = time.monotonic()

    def note(said: dict[str, object]) -> None:
        row = rows[str(said["name"])]
        row.theirs = _theirs(said)
        results.store(row)
        right = "right" if row.theirs.right else "NOT right"
        ratio = _shown(row.theirs.times.over_eager)
        _say(console, f"KernelBench: {row.name}: {right} {ratio} {row.theirs.why[:90]}")

    _evaluate(jobs, arguments, results.folder / "jobs.json", note)
    _say(console, f"{time.monotonic() - begun:.0f} s of KernelBench's evaluation")


def _evaluate(
    jobs: list[Job],
    arguments: argparse.Namespace,
    file: Path,
    note: Callable[[dict[str, object]], None],
) -> None:
    """Run KernelBench's evaluation in a program of its own."""
    file.write_text(json.dumps([job._asdict() for job in jobs]))
    command = [sys.executable, str(EVALUATION), str(arguments.checkout), str(file)]
    for option in ("trials", "calls", "workers"):
        command += [f"--{option}", str(getattr(arguments, option))]
    if arguments.check_minutes is not None:
        command += ["--minutes", str(arguments.check_minutes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            note(json.loads(line))
    if process.returncode:
        sys.exit(f"KernelBench's evaluation ended with exit code {process.returncode}")


def _theirs(said: dict[str, object]) -> Finding:
    times = msgspec.convert(said, Times)
    why = str(said["reason"] or said["untimed"])
    return Finding(
        bool(said["correct"]), why, times, msgspec.convert(said.get("seconds", 0.0), float)
    )


def show(rows: list[Row], console: Console) -> None:
    """One line per task, then the figures of each level and of all."""
    table = Table(
        "task", "ours", "ms", "over eager", "over compile", "KernelBench", "ms", "over eager",
        "over compile", "s", "why",
    )  # fmt: skip
    for row in rows:
        theirs = row.theirs or Finding(False)
        table.add_row(
            f"{row.level}/{row.name}"[:40], _right(row.ours), *_cells(row.ours.times),
            _right(row.theirs), *_cells(theirs.times),
            f"{row.ours.seconds:.1f}", (row.ours.why or theirs.why)[:60],
        )  # fmt: skip
    console.print(table, highlight=False, markup=False)
    for level in sorted({row.level for row in rows}):
        _summarise(f"level {level}", [row for row in rows if row.level == level], console)
    _summarise("all", rows, console)


def _summarise(title: str, rows: list[Row], console: Console) -> None:
    checked = [row for row in rows if row.theirs is not None]
    right = sum(row.ours.right for row in rows)
    agreed = sum(row.theirs.right for row in checked if row.theirs)
    _say(
        console,
        f"{title}: right by us {right} of {len(rows)}, by KernelBench {agreed} of {len(checked)}",
    )
    ours = [row.ours.times for row in rows]
    theirs = [row.theirs.times for row in checked if row.theirs]
    for said, times in (("us", ours), ("KernelBench's clock", theirs)):
        for over in ("eager", "compile"):
            ratios = [getattr(one, f"over_{over}") for one in times]
            known = [ratio for ratio in ratios if ratio is not None]
            if speedups := Speedups.of(known):
                faster = sum(ratio > 1 for ratio in known)
                least, most = min(known), max(known)
                _say(
                    console,
                    f"  over {over} by {said}: {speedups} of {len(known)}, {faster} faster, "
                    f"{least:.2f}x to {most:.2f}x",
                )


def _right(finding: Finding | None) -> str:
    if finding is None:
        return ""
    return "right" if finding.right else "-"


def _cells(times: Times) -> tuple[str, str, str]:
    milliseconds = "" if times.ms is None else f"{times.ms:.3f}"
    return milliseconds, _shown(times.over_eager), _shown(times.over_compile)


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"


def _ratio(slow: float | None, fast: float | None) -> float | None:
    return slow / fast if slow and fast else None


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
