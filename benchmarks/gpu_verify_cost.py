"""Cost of a verdict on a GPU, compared with KernelBench's own evaluation of the same candidate.

    python benchmarks/gpu_verify_cost.py PATH/TO/KernelBench [--tasks softmax ...] [--repeats 3]

verdict:     a warm judge and a candidate it has not seen: compiled, checked on about ten cases,
             timed against eager in interleaved rounds.
ahead:       the same as in a campaign, where it was compiled while others were timed.
kernelbench: a new process runs KernelBench's eval_kernel_against_ref: five trials, a hundred timed
             calls of each side. "evaluation" excludes the start of the process and imports.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite
from parts.kernelbench_eval import Job

HERE = Path(__file__).parent
AT_GPU_SCALE = "\nglobals().update(SCALES['gpu'])\n"


class Cost(NamedTuple):
    verdict: float
    ahead: float


class KernelBenchCost(NamedTuple):
    process: float
    evaluation: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tasks", nargs="*", default=["softmax", "gelu", "layer_norm", "matmul"])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    table = Table(
        "task",
        "kernelbench s",
        "evaluation s",
        "verdict s",
        "kernelbench/verdict",
        "ahead s",
        "kernelbench/ahead",
    )
    with Judge(get_backend("triton"), JudgeSettings()) as judge:
        for name in arguments.tasks:
            task = judge.describe(load_suite(f"starter/{name}")[0], "gpu")
            example = read_candidate(judge.backend.examples() / "starter" / name, Origin.SHIPPED)
            judge.verify(task, example)
            costs = [
                Cost(
                    timed_verdict(judge, task, unseen(example, 2 * repeat)),
                    timed_verdict(judge, task, unseen(example, 2 * repeat + 1), ahead=True),
                )
                for repeat in range(arguments.repeats)
            ]
            verdict, ahead = (statistics.median(some) for some in zip(*costs, strict=True))
            kernelbench = kernelbench_cost(arguments.checkout, task, example)
            process = kernelbench.process
            figures = (*kernelbench, verdict, process / verdict, ahead, process / ahead)
            table.add_row(name, *(f"{figure:.2f}" for figure in figures))
    Console().print(table)


def unseen(candidate: Candidate, number: int) -> Candidate:
    files = {**candidate.files, "model.py": f"{candidate.files['model.py']}\n# {number}\n"}
    return Candidate(files, candidate.origin, candidate.name)


def timed_verdict(judge: Judge, task: Task, candidate: Candidate, ahead: bool = False) -> float:
    if ahead:
        judge.build_ahead(task, candidate)
    start = time.perf_counter()
    verdict = judge.verify(task, candidate)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    return time.perf_counter() - start


def kernelbench_cost(checkout: Path, task: Task, candidate: Candidate) -> KernelBenchCost:
    with tempfile.TemporaryDirectory() as folder:
        reference, kernel = Path(folder) / "reference.py", Path(folder) / "candidate.py"
        reference.write_text(task.source + AT_GPU_SCALE)
        kernel.write_text(candidate.files["model.py"])
        jobs = Path(folder) / "jobs.json"
        jobs.write_text(json.dumps([Job(task.id, str(reference), str(kernel), "triton")._asdict()]))
        program = HERE / "parts" / "kernelbench_eval.py"
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, program, checkout, jobs, "--whole"], capture_output=True, text=True
        )
        process = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.strip().splitlines()[-1])
    assert result["correct"], result
    return KernelBenchCost(process, result["seconds"])


if __name__ == "__main__":
    main()
