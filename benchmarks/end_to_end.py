"""Gain of optimized models: five whole models, eager and torch.compile beside them.

    python benchmarks/end_to_end.py [llama vit resnet unet dlrm] [--budget 4] [--small]

All arms of a model run interleaved in one process: eager twice (the second shows the noise), eager
that sleeps a tenth of its time (swapped slots would show), torch.compile, and the optimized model.
The kernels stay in benchmarks/results/end_to_end/, so that a second start measures anew and
searches nothing.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import kernelmill
from kernelmill.deploy.measure import time_arms
from kernelmill.judge.evidence import processor_name
from kernelmill.judge.statistics import ratio_interval, typical_time
from kernelmill.records.verdict import Interval
from parts.whole_models import NAMES, WholeModel, make_model

RESULTS = Path(__file__).parent / "results" / "end_to_end"
SLOWED = 0.1


class Row(NamedTuple):
    name: str
    eager_ms: float
    a_a: Interval
    slowed: Interval
    over_eager: Interval
    over_compile: Interval | None
    error: float
    """Greatest difference from eager, as a share of the greatest output."""
    engagement: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", default=list(NAMES))
    parser.add_argument("--budget", type=int, default=4, help="attempts per kind of region")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--max-minutes", type=float, default=None, help="of search, per model")
    parser.add_argument("--small", action="store_true", help="sizes that show that it works")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    arguments = parser.parse_args()
    console = Console(width=140)
    rows = []
    for name in arguments.models:
        with torch.no_grad():
            rows.append(measure(name, make_model(name, arguments.small), arguments, console))
    show(rows, console)


def measure(name: str, model: WholeModel, arguments: argparse.Namespace, console: Console) -> Row:
    module, inputs = model
    optimized = kernelmill.optimize(
        module,
        inputs,
        budget=arguments.budget,
        max_minutes=arguments.max_minutes,
        rounds=arguments.rounds,
        workspace=RESULTS,
        progress=lambda text: console.print(f"{name}: {text}", highlight=False),
    )
    console.print(str(optimized.report), highlight=False, markup=False)
    arms: dict[str, Callable[[], Any]] = {
        "eager": lambda: module(*inputs),
        "again": lambda: module(*inputs),
        "slowed": _slowed(module, inputs),
        "optimized": lambda: optimized(*inputs),
    }
    if not arguments.no_compile:
        compiled = torch.compile(module, dynamic=False)
        arms["compiled"] = lambda: compiled(*inputs)
    times = time_arms(arms, arguments.rounds)
    eager, ours = times["eager"], times["optimized"]
    wanted = module(*inputs)
    return Row(
        name,
        1e3 * typical_time(eager),
        ratio_interval(eager, times["again"]),
        ratio_interval(eager, times["slowed"]),
        ratio_interval(eager, ours),
        ratio_interval(times["compiled"], ours) if "compiled" in times else None,
        float((optimized(*inputs) - wanted).abs().max() / wanted.abs().max()),
        _engaged(optimized),
    )


def _slowed(module: Any, inputs: tuple[torch.Tensor, ...]) -> Callable[[], Any]:
    def call() -> Any:
        begun = time.perf_counter()
        result = module(*inputs)
        end = time.perf_counter() + SLOWED * (time.perf_counter() - begun)
        while time.perf_counter() < end:
            pass
        return result

    return call


def _engaged(optimized: Any) -> str:
    counts = optimized.engagement()
    kernels = sum(one.kernel for name, one in counts.items() if name != "graph")
    fallbacks = sum(sum(one.fallbacks.values()) for one in counts.values())
    calls = counts["graph"].kernel if counts else 0
    return f"{kernels / max(calls, 1):.0f} kernels per call, {fallbacks} fallbacks"


def show(rows: list[Row], console: Console) -> None:
    table = Table(
        "model", "eager ms", "A/A", "slowed", "over eager", "over torch.compile", "error", "engaged"
    )
    for row in rows:
        table.add_row(
            row.name, f"{row.eager_ms:.2f}", str(row.a_a), str(row.slowed), str(row.over_eager),
            str(row.over_compile or ""), f"{row.error:.1e}", row.engagement,
        )  # fmt: skip
    console.print(table)
    console.print(f"geometric mean over eager: {_mean([row.over_eager for row in rows])}")
    compiled = [row.over_compile for row in rows if row.over_compile is not None]
    if compiled:
        console.print(f"geometric mean over torch.compile: {_mean(compiled)}")
    threads = torch.get_num_threads()
    console.print(f"{processor_name()}, {threads} threads, torch {torch.__version__}")


def _mean(intervals: list[Interval]) -> str:
    return f"{np.exp(np.mean(np.log([one.ratio for one in intervals]))):.2f}x"


if __name__ == "__main__":
    main()
