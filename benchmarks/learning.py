"""Effect of learning: the same tasks, generator and budget under several strategies and seeds.

    python benchmarks/learning.py [--arms memory] [--backend cpp] [--basic 8] [--fused 2]
                                  [--budget 12] [--seeds 5] [--workers 1]

`--arms memory`: the effect of values, on `basic`, then on `fused` from the memory of `basic`
`--arms skill`: the effect of long-term and short-term memory of skills
`--arms cold`: an empty memory on a backend, on both suites together
`--arms transfer --source BACKEND`: the same with the memory of `--arms cold` on another backend

The composer works cold: it has no defaults, so decisions that it does not learn are random. Tasks
are sampled from all families of a suite. The verdict of an identical source on this machine is
reused, as a line below the tables says. Figures and plots go to benchmarks/results/learning/.
With `--workers` seeds run in parallel, each on its own processors: two, or one where time is
modelled and not measured.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from kernelmill.backends import get_backend
from kernelmill.judge.evidence import processor_name
from kernelmill.tasks import load_suite
from parts.comparison import Runs, report
from parts.experiments import Arm, Experiment, ExperimentRunner, results_of

RESULTS = Path(__file__).parent / "results" / "learning"
MEASURED_PROCESSORS, MODELLED_PROCESSORS = 2, 1
"""Processors per seed, where time is measured and where it is modelled."""
WARM = "composer"
CONTROLS = (Arm("best-of-n", "best-of-n"), Arm("refine", "refine"))
SIMILARITY = Arm("similarity only", "value:rank=similarity")
VALUE = Arm("value", "value")


def on_basic() -> tuple[Arm, ...]:
    return (
        *CONTROLS,
        SIMILARITY,
        VALUE,
        Arm("value, by family", "value:values=family"),
        Arm("value, unshared", "value:share=task"),
    )


def on_fused(memory: Path) -> tuple[Arm, ...]:
    return (
        CONTROLS[0],
        VALUE,
        Arm("value, memory of basic", "value", memory=memory),
        Arm("value, lambda 2", "value:pool=2,most_pool=2", memory=memory),
        Arm("value, lambda 30", "value:pool=30", memory=memory),
        Arm("warm", "value", WARM),
        Arm("warm, memory of basic", "value", WARM, memory),
    )


def with_skills() -> tuple[Arm, ...]:
    return (
        CONTROLS[0],
        Arm("skill", "skill"),
        Arm("skill, no long-term", "skill:long=off"),
        Arm("skill, no short-term", "skill:short=off"),
        Arm("skill, neither", "skill:long=off,short=off"),
    )


def transferred(source: str) -> tuple[Arm, ...]:
    memory = results_of(RESULTS, source) / "cold"
    return VALUE, Arm(f"value, memory of {source}", "value", memory=memory)


def sample(suite: str, count: int, draw: int) -> tuple[str, ...]:
    """Tasks from all families, the largest family first, evenly spaced by name within each.

    Another `draw` takes the next task by name.
    """
    families: dict[str, list[str]] = {}
    for file in sorted(load_suite(suite), key=lambda file: file.id):
        families.setdefault(file.family or "", []).append(file.path)
    ranked = sorted(families.values(), key=len, reverse=True)
    chosen = []
    for rank, paths in enumerate(ranked):
        share = (count - rank - 1) // len(ranked) + 1
        indices = (len(paths) * (2 * n + 1) // (2 * share) + draw for n in range(share))
        chosen += [paths[index % len(paths)] for index in indices]
    return tuple(chosen)


def experiments(arguments: argparse.Namespace) -> list[Experiment]:
    basic = sample("basic", arguments.basic, arguments.draw)
    fused = sample("fused", arguments.fused, arguments.draw)
    match arguments.arms:
        case "memory":
            memory = results_of(RESULTS, arguments.backend) / "basic"
            return [
                Experiment("basic", basic, on_basic()),
                Experiment("fused", fused, on_fused(memory)),
            ]
        case "skill":
            return [Experiment("skill", basic + fused, with_skills())]
        case "cold":
            return [Experiment("cold", basic + fused, (*CONTROLS, SIMILARITY, VALUE))]
    return [Experiment("transfer", basic + fused, transferred(arguments.source))]


def open_laboratory(arguments: argparse.Namespace, threads: int) -> ExperimentRunner:
    return ExperimentRunner(arguments.backend, arguments.budget, arguments.rounds, threads, RESULTS)


def run_seed(arguments: argparse.Namespace, seed: int, processors: Sequence[int]) -> None:
    """All arms with one seed, on processors that no other worker uses."""
    os.sched_setaffinity(0, processors)
    lab = open_laboratory(arguments, len(processors))
    with lab.judge:
        for experiment in experiments(arguments):
            carry_out(lab, experiment, [seed])


def run_in_parallel(arguments: argparse.Namespace) -> None:
    """Fill the workspaces of all seeds; `carry_out` then only reads them."""
    processors, share = sorted(os.sched_getaffinity(0)), processors_of(arguments)
    context = multiprocessing.get_context("spawn")
    for first in range(1, arguments.seeds + 1, arguments.workers):
        seeds = range(first, min(first + arguments.workers, arguments.seeds + 1))
        workers = []
        for index, seed in enumerate(seeds):
            own = processors[index * share : (index + 1) * share]
            workers.append(context.Process(target=run_seed, args=(arguments, seed, own)))
            workers[-1].start()
        for worker in workers:
            worker.join()


def processors_of(arguments: argparse.Namespace) -> int:
    backend = get_backend(arguments.backend)
    return MODELLED_PROCESSORS if backend.deterministic_timing else MEASURED_PROCESSORS


def carry_out(lab: ExperimentRunner, experiment: Experiment, seeds: Sequence[int]) -> Runs:
    """The runs of each arm, one per seed."""
    tasks = lab.describe(experiment)
    runs: Runs = {arm.name: [] for arm in experiment.arms}
    for seed in seeds:
        for arm in experiment.arms:
            begun = time.perf_counter()
            runs[arm.name].append(lab.run(experiment, arm, tasks, seed))
            seconds = time.perf_counter() - begun
            print(f"{experiment.name}, seed {seed}, {arm.name}: {seconds:.0f} s", flush=True)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", default="cpp")
    parser.add_argument("--basic", type=int, default=8, help="tasks of `basic`")
    parser.add_argument("--fused", type=int, default=2, help="tasks of `fused`")
    parser.add_argument("--draw", type=int, default=0, help="sample other tasks")
    parser.add_argument("--budget", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--arms", choices=("memory", "skill", "cold", "transfer"), default="memory")
    parser.add_argument("--source", default="cpp", help="backend whose memory is transferred")
    parser.add_argument("--workers", type=int, default=1, help="seeds in parallel")
    arguments = parser.parse_args()
    processors = processors_of(arguments)
    least = arguments.workers * processors
    if arguments.workers > 1 and least > len(os.sched_getaffinity(0)):
        parser.error(f"{arguments.workers} workers need {least} processors")
    if arguments.workers > 1:
        run_in_parallel(arguments)
    lab = open_laboratory(arguments, processors)
    console = Console(width=150)
    with lab.judge:
        for experiment in experiments(arguments):
            runs = carry_out(lab, experiment, range(1, arguments.seeds + 1))
            report(console, experiment, runs, lab.folder / experiment.name)
    console.print(
        f"{lab.judge.known} verdicts; that of an identical source is reused; "
        f"{processor_name()}, {processors} processors per seed, {arguments.rounds} rounds; "
        "+- is one standard error over seeds",
        highlight=False,
    )


if __name__ == "__main__":
    main()
