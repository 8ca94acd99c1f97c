"""Does the same kernel measure the same? Fifty fresh runners of one Triton kernel, by its length.

    python benchmarks/gpu_timing.py [--runs 50]

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
from kernelmill.candidate import Candidate, Origin, read_candidate
from kernelmill.judge import Judge, Settings, Verdict
from kernelmill.tasks import load_suite

ROWS = (128, 1024, 6144, 16384)
"""Of the starter suite's GELU: about 4 MB to 512 MB that a call moves."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    table = Table("rows", "kernel us", "scatter", "eager us", "ratio to eager", "scatter", "rounds")
    device = ""
    with Judge(get_backend("triton"), Settings()) as judge:
        kernel = read_candidate(judge.backend.examples() / "starter" / "gelu", Origin.SHIPPED)
        for rows in ROWS:
            verdicts = measure(judge, kernel, rows, runs)
            latencies = [v.latency for v in verdicts if v.latency is not None]
            times = np.asarray([one.candidate_ms for one in latencies])
            ratios = np.asarray([one.over_eager.ratio for one in latencies])
            table.add_row(
                str(rows),
                f"{1e3 * np.median(times):.2f}",
                f"{times.std() / times.mean():.2%}",
                f"{1e3 * np.median([one.eager_ms for one in latencies]):.2f}",
                f"{np.median(ratios):.3f}",
                f"{ratios.std() / ratios.mean():.2%}",
                f"{np.median([one.rounds for one in latencies]):.0f}",
            )
            device = verdicts[-1].evidence.device
    console = Console()
    console.print(table)
    console.print(device)


def measure(judge: Judge, kernel: Candidate, rows: int, runs: int) -> list[Verdict]:
    (file,) = load_suite("starter/gelu")
    sized = file.source.replace('{"batch": 16384}', f'{{"batch": {rows}}}')
    assert sized != file.source or rows == 16384
    task = judge.describe(msgspec.structs.replace(file, source=sized), "gpu")
    return [judge.verify(task, kernel) for _ in track(range(runs), description=f"{rows} rows")]


if __name__ == "__main__":
    main()
