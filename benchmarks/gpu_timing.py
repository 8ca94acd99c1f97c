"""Repeatability of GPU timing: fifty new runners of one CUDA kernel, for several input sizes.

    python benchmarks/gpu_timing.py [--runs 50] [--rows 1024 16384]

The table shows the median of the measured times, and the coefficients of variation of the times and
of their ratio to eager.
"""

import argparse

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.nvidia import gpu_name
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices.cuda import nvml
from kernelmill.judge.timing import REPEATS
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Latency
from kernelmill.tasks import load_suite

ROWS = (128, 1024, 8192, 16384)
"""Rows of the starter suite's GELU: a call moves 4 MB to 512 MB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    arguments = parser.parse_args()
    console = Console()
    with Judge(get_backend("cuda"), JudgeSettings()) as judge:
        kernel = read_candidate(judge.backend.examples() / "starter" / "gelu", Origin.SHIPPED)
        for rows in arguments.rows:
            latencies = measure(judge, kernel, rows, arguments.runs)
            times = np.asarray([one.candidate_ms for one in latencies])
            ratios = np.asarray([one.over_baseline.ratio for one in latencies])
            table = Table(
                "rows", "kernel us", "scatter", "eager us", "ratio to eager", "scatter", "rounds"
            )
            table.add_row(
                str(rows),
                f"{1e3 * np.median(times):.2f}",
                f"{times.std() / times.mean():.2%}",
                f"{1e3 * np.median([one.baseline_ms for one in latencies]):.2f}",
                f"{np.median(ratios):.3f}",
                f"{ratios.std() / ratios.mean():.2%}",
                f"{np.median([one.rounds for one in latencies]):.0f}",
            )
            console.print(table)
    console.print(gpu_name(), nvml.state())


def measure(judge: Judge, kernel: Candidate, rows: int, runs: int) -> list[Latency]:
    (file,) = load_suite("starter/gelu")
    sized = file.source.replace('{"batch": 16384}', f'{{"batch": {rows}}}')
    assert sized != file.source or rows == 16384
    task = judge.describe(msgspec.structs.replace(file, source=sized), "gpu")
    harness, built = judge.harness(task), judge.backend.build(kernel, judge.zygote)
    latencies = []
    for _ in track(range(runs), description=f"{rows} rows"):
        with harness.spawn_runner(kernel, built) as runner:
            outputs = harness.check_again(runner).outputs
            latencies.append(harness.measure(runner, outputs, built, False, REPEATS).latency)
    harness.close()
    return latencies


if __name__ == "__main__":
    main()
