"""Does the same kernel measure the same? Fifty fresh runners of one CUDA kernel, by its length.

    python benchmarks/gpu_timing.py [--runs 50] [--rows 1024 16384]

For each length: the median of the measured times, how far they scatter (coefficient of variation),
and how far the ratio to eager does.
"""

import argparse

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.nvidia import device_name
from kernelmill.candidate import Candidate, Origin, read_candidate
from kernelmill.judge import Judge, Latency, Settings
from kernelmill.judge.cuda import nvml
from kernelmill.judge.latency import REPEATS
from kernelmill.tasks import load_suite

ROWS = (128, 1024, 8192, 16384)
"""Of the starter suite's GELU: 4 MB to 512 MB that a call moves."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    arguments = parser.parse_args()
    console = Console()
    with Judge(get_backend("cuda"), Settings()) as judge:
        kernel = read_candidate(judge.backend.examples() / "starter" / "gelu", Origin.SHIPPED)
        for rows in arguments.rows:
            latencies = measure(judge, kernel, rows, arguments.runs)
            times = np.asarray([one.candidate_ms for one in latencies])
            ratios = np.asarray([one.over_eager.ratio for one in latencies])
            table = Table(
                "rows", "kernel us", "scatter", "eager us", "ratio to eager", "scatter", "rounds"
            )
            table.add_row(
                str(rows),
                f"{1e3 * np.median(times):.2f}",
                f"{times.std() / times.mean():.2%}",
                f"{1e3 * np.median([one.eager_ms for one in latencies]):.2f}",
                f"{np.median(ratios):.3f}",
                f"{ratios.std() / ratios.mean():.2%}",
                f"{np.median([one.rounds for one in latencies]):.0f}",
            )
            console.print(table)
    console.print(device_name(), nvml.state())


def measure(judge: Judge, kernel: Candidate, rows: int, runs: int) -> list[Latency]:
    (file,) = load_suite("starter/gelu")
    sized = file.source.replace('{"batch": 16384}', f'{{"batch": {rows}}}')
    assert sized != file.source or rows == 16384
    task = judge.describe(msgspec.structs.replace(file, source=sized), "gpu")
    bench, built = judge.bench(task), judge.backend.build(kernel, judge.zygote)
    latencies = []
    for _ in track(range(runs), description=f"{rows} rows"):
        with bench.seat(kernel, built) as subject:
            outputs = bench.check_again(subject).outputs
            latencies.append(bench.compete(subject, outputs, built, False, REPEATS).latency)
    bench.close()
    return latencies


if __name__ == "__main__":
    main()
