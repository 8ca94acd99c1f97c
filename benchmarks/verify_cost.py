"""Cost of a verdict, compared with its floor and with a conventional evaluation.

    python benchmarks/verify_cost.py [--tasks gelu softmax ...] [--repeats 3] [--skip-conventional]

verdict:      a warm judge and a candidate it has not seen (built, checked, timed against eager).
floor:        the same compile and the same number of candidate and reference calls, back to back
              in one warm process that trusts everything.
conventional: a new process builds the same kernel through the framework's load_inline, runs five
              correctness trials and a hundred timed calls of each side.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.evidence import processor_name
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.tasks import load_suite

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-conventional", action="store_true")
    arguments = parser.parse_args()
    table = Table(
        "task", "verdict s", "floor s", "verdict/floor", "conventional s", "conventional/verdict"
    )
    to_floor, to_conventional = [], []
    with Judge(get_backend("cpp"), JudgeSettings()) as judge:
        for file in load_suite("starter"):
            name = file.id.partition("/")[2]
            if arguments.tasks and name not in arguments.tasks:
                continue
            task = judge.describe(file)
            example = read_candidate(judge.backend.examples() / file.id, Origin.SHIPPED)
            judge.verify(task, example)
            ratios, verdict_seconds, floor_seconds = [], [], []
            for repeat in range(arguments.repeats):
                took, verdict = timed_verdict(judge, task, unseen(example, repeat))
                floor = floor_time(task, unseen(example, repeat + 1000), verdict)
                verdict_seconds.append(took)
                floor_seconds.append(floor)
                ratios.append(took / floor)
            row = [name]
            for values in (verdict_seconds, floor_seconds, ratios):
                row.append(f"{statistics.median(values):.2f}")
            to_floor.append(statistics.median(ratios))
            if not arguments.skip_conventional:
                conventional = conventional_time(task, example)
                to_conventional.append(conventional / statistics.median(verdict_seconds))
                row += [f"{conventional:.1f}", f"{to_conventional[-1]:.1f}"]
            table.add_row(*row)
            print(*row, flush=True)
    console = Console(width=100)
    console.print(table)
    console.print(
        f"verdict/floor: median {statistics.median(to_floor):.2f}, worst {max(to_floor):.2f}"
    )
    if to_conventional:
        median, least = statistics.median(to_conventional), min(to_conventional)
        console.print(f"conventional/verdict: median {median:.1f}, least {least:.1f}")
    console.print(f"{processor_name()}, {JudgeSettings().threads} threads")


def unseen(example: Candidate, number: int) -> Candidate:
    """The same kernel with source text that is in no cache."""
    text = f"{example.files['kernel.cpp']}\n// {number} {time.time_ns()}\n"
    return Candidate({**example.files, "kernel.cpp": text}, example.origin, example.name)


def timed_verdict(judge: Judge, task: Task, candidate: Candidate) -> tuple[float, Verdict]:
    start = time.perf_counter()
    verdict = judge.verify(task, candidate)
    took = time.perf_counter() - start
    assert verdict.passed, verdict.feedback
    return took, verdict


def floor_time(task: Task, candidate: Candidate, verdict: Verdict) -> float:
    assert verdict.latency is not None
    calls = verdict.latency.calls_per_round
    # Trials before and after; two warm-up rounds, eight profiled ones, and the timed ones, each
    # with one more call; at the end four batches.
    candidate_calls = len(verdict.trials) + 1 + (calls + 1) * (2 + 8 + verdict.latency.rounds)
    candidate_calls += 1 + 4 * calls
    reference_calls = calls * (2 + verdict.latency.rounds)
    return run_script(
        "verdict_floor.py", task, candidate, str(candidate_calls), str(reference_calls)
    )


def conventional_time(task: Task, candidate: Candidate) -> float:
    start = time.perf_counter()
    run_script("conventional_evaluation.py", task, candidate)
    return time.perf_counter() - start


def run_script(script: str, task: Task, candidate: Candidate, *arguments: str) -> float:
    """Run a script of `parts`. Returns the seconds that it prints last."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task.py").write_text(task.source)
        for file, text in candidate.files.items():
            (folder / file).write_text(text)
        done = subprocess.run(
            [sys.executable, HERE / "parts" / script, folder, *arguments],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{script} failed:\n{done.stderr[-3000:]}")
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
