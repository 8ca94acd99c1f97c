"""Trust in timing: a kernel measured against itself, and against itself made 5% slower.

    python benchmarks/timing_trust.py [--pairs 200] [--tasks gelu softmax matmul]

Every pair is measured like any candidate against any baseline: both in a new fork for every batch.
The table shows how often equal kernels are called faster or slower, and how
often the slowed kernel, which is measured every second time, is called slower.
"""

import argparse
from functools import cache
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.base import Built
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices.cpu.code_identity import learn_known_code
from kernelmill.judge.devices.cpu.harness import CpuHarness
from kernelmill.judge.devices.cpu.interleaved import (
    InterleavedTiming,
    TimedCandidate,
    TimedInputs,
)
from kernelmill.judge.devices.cpu.profiling import Sampler
from kernelmill.judge.evidence import processor_name
from kernelmill.judge.statistics import ratio_interval
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Interval
from kernelmill.tasks import load_suite

# The launch in model.py, and a second launch on a twentieth of the rows: 5% more work.
SLOWED = {
    "gelu": ("_lib.gelu_forward(x.data_ptr(), y.data_ptr(), x.numel())",
             "{0}; _lib.gelu_forward(x.data_ptr(), y.data_ptr(), x.numel() // 20)"),
    "softmax": ("_lib.softmax_forward(x.data_ptr(), y.data_ptr(), rows, columns)",
                "{0}; _lib.softmax_forward(x.data_ptr(), y.data_ptr(), rows // 20, columns)"),
    "matmul": ("_lib.matmul_forward(a.data_ptr(), b.data_ptr(), c.data_ptr(), m, k, n)",
               "{0}; _lib.matmul_forward(a.data_ptr(), b.data_ptr(), c.data_ptr(), m // 20, k, n)"),
}  # fmt: skip


class Kernel(NamedTuple):
    candidate: Candidate
    built: Built


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=200, help="pairs of equal kernels, in all")
    parser.add_argument("--tasks", nargs="+", default=list(SLOWED), choices=list(SLOWED))
    arguments = parser.parse_args()
    console = Console(width=110)
    table = Table("task", "pairs", "same: faster", "same: slower", "same: spread of ratio",
                  "5% slower: found", "ratio seen")  # fmt: skip
    each = -(-arguments.pairs // len(arguments.tasks))
    same_all: list[Interval] = []
    slowed_all: list[Interval] = []
    with Judge(get_backend("cpp"), JudgeSettings()) as judge:
        for name in arguments.tasks:
            same, slowed = measure(judge, name, each)
            same_all += same
            slowed_all += slowed
            table.add_row(name, *row(same, slowed))
    table.add_row("all", *row(same_all, slowed_all))
    console.print(table)
    console.print(
        f"{processor_name()}, {JudgeSettings().threads} threads, {JudgeSettings().rounds} rounds"
    )


def row(same: list[Interval], slowed: list[Interval]) -> tuple[str, ...]:
    def share(results: list[Interval], word: str) -> str:
        count = sum(result.verdict == word for result in results)
        return f"{count} of {len(results)} ({count / len(results):.1%})"

    spread = np.std(np.log([result.ratio for result in same]))
    seen = np.median([result.ratio for result in slowed])
    return (
        str(len(same)), share(same, "faster"), share(same, "slower"), f"{spread:.2%}",
        share(slowed, "slower"), f"{seen:.3f}",
    )  # fmt: skip


def measure(judge: Judge, name: str, pairs: int) -> tuple[list[Interval], list[Interval]]:
    task = judge.describe(load_suite(f"starter/{name}")[0])
    honest = read_candidate(judge.backend.examples() / "starter" / name, Origin.SHIPPED)
    call, again = SLOWED[name]
    text = honest.files["model.py"]
    assert call in text, f"{name}: model.py does not contain the expected launch"
    files = {**honest.files, "model.py": text.replace(call, again.format(call))}
    built = judge.backend.build(honest, judge.zygote)
    first = Kernel(honest, built)
    second = Kernel(Candidate(files, Origin.SHIPPED, "slowed"), built)
    known_code = cache(lambda: learn_known_code(judge.zygote, judge.settings.threads))
    harness = CpuHarness(task, judge.zygote, judge.settings, known_code)
    same, slowed = [], []
    try:
        for number in track(range(pairs), description=name):
            same.append(time_pair(judge, harness, first, first))
            if number % 2 == 0:
                slowed.append(time_pair(judge, harness, second, first))
    finally:
        harness.close()
    return same, slowed


def time_pair(judge: Judge, harness: CpuHarness, candidate: Kernel, baseline: Kernel) -> Interval:
    with harness.spawn_runner(*candidate) as one, harness.spawn_runner(*baseline) as two:
        outputs = harness.check(one, small=False).outputs
        settings, cases = judge.settings, harness.cases
        sampler = Sampler(harness.known_code(), candidate.built.artefacts)
        timing = InterleavedTiming(
            TimedCandidate(one, outputs),
            [two],
            TimedInputs(harness.ring, harness.task.buffers, cases.unlike_timed),
            sampler,
            settings,
        )
        samples = timing.measure(settings.rounds)
    return ratio_interval(samples.baselines[0], samples.candidate)


if __name__ == "__main__":
    main()
