"""Does it learn? The same tasks, generator and budget under several strategies, with error bars.

    python benchmarks/learning.py [--backend cpp] [--basic 8] [--fused 5] [--budget 15] [--seeds 5]
                                  [--arms memory|skill|all] [--workers 1]

The composer works cold: it knows no usual choices, so what it does not learn it draws by lot. The
sample goes round a suite's families. The verdict of an identical source on this machine is
reused, which is said below the tables. Figures and plots go to benchmarks/results/learning/.
With `--workers` seeds run side by side, each on two processors of its own.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.campaign import Crew, Limits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators import get_generator
from kernelmill.generators.base import Generator
from kernelmill.judge import Settings
from kernelmill.judge.evidence import processor_name
from kernelmill.memory import Memory
from kernelmill.memory.transfer import export, import_file
from kernelmill.strategies import get_strategy
from kernelmill.tasks import load_suite
from kernelmill.workspace import CampaignSettings, NewTask, State, Workspace
from parts.curves import Curve, draw
from parts.reusing_judge import ReusingJudge

RESULTS = Path(__file__).parent / "results" / "learning"
PROCESSORS = 2
"""For one seed: what the figures are stated for."""
COLD, WARM = "composer:cold", "composer"
Row = npt.NDArray[np.float64]


class Arm(NamedTuple):
    name: str
    strategy: str
    generator: str = COLD
    memory_of: str = ""
    """The arm on `basic` whose memory it starts from."""


ON_BASIC = (
    Arm("best-of-n", "best-of-n"),
    Arm("refine", "refine"),
    Arm("similarity only", "value:rank=similarity"),
    Arm("value", "value"),
    Arm("value, by family", "value:values=family"),
    Arm("value, unshared", "value:share=task"),
)
ON_FUSED = (
    Arm("best-of-n", "best-of-n"),
    Arm("value", "value"),
    Arm("value, memory of basic", "value", memory_of="value"),
    Arm("value, lambda 2", "value:pool=2,most_pool=2", memory_of="value"),
    Arm("value, lambda 30", "value:pool=30", memory_of="value"),
    Arm("warm", "value", WARM),
    Arm("warm, memory of basic", "value", WARM, memory_of="value"),
)
SKILL = (
    Arm("best-of-n", "best-of-n"),
    Arm("skill", "skill"),
    Arm("skill, no long-term", "skill:long=off"),
    Arm("skill, no short-term", "skill:short=off"),
    Arm("skill, neither", "skill:long=off,short=off"),
)


class Run(NamedTuple):
    """One arm with one seed: what each attempt of each task came to."""

    ratios: Row
    """Tasks by attempts; 0 where it was refused."""

    @property
    def best(self) -> Row:
        return np.maximum.accumulate(self.ratios, axis=1)


class Laboratory:
    """What all runs share."""

    def __init__(self, backend: str, budget: int, rounds: int, threads: int) -> None:
        self.budget = budget
        self.backend = get_backend(backend)
        folder = RESULTS / "verdicts"
        self.judge = ReusingJudge(self.backend, Settings(rounds=rounds, threads=threads), folder)
        self._generators: dict[str, Generator] = {}

    def run(self, arm: Arm, suite: str, tasks: list[NewTask], seed: int, memory: Path) -> Run:
        settings = CampaignSettings(
            (suite,), self.backend.name, arm.generator, arm.strategy, self.budget, seed, "cpu",
            self.judge.settings.threads, compiled=False,
        )  # fmt: skip
        folder = (
            RESULTS / "runs" / suite / arm.name.replace(", ", "-").replace(" ", "-") / str(seed)
        )
        with Workspace(folder, create=True) as workspace:
            if workspace.campaigns():
                campaign = workspace.campaign()
            else:
                if arm.memory_of:
                    with workspace.writing() as transaction:
                        import_file(Memory(transaction), memory)
                campaign = workspace.create_campaign(settings, tasks)
            crew = Crew(self.judge, self._generator(arm.generator), get_strategy(arm.strategy))
            run_campaign(workspace, campaign, crew, Limits(), Watcher())
            if (suite, arm.name) == ("basic", "value"):
                export(Memory(workspace.database), memory, suite)
            return self._read(workspace)

    def _generator(self, name: str) -> Generator:
        if name not in self._generators:
            self._generators[name] = get_generator(name)
        return self._generators[name]

    def _read(self, workspace: Workspace) -> Run:
        campaign = workspace.campaign()
        entries = workspace.tasks(campaign)
        ratios = np.zeros((len(entries), self.budget))
        for row, entry in zip(ratios, entries, strict=True):
            for attempt in workspace.attempts(campaign, entry.task or 0):
                if attempt.state == State.PASSED:
                    row[attempt.number - 1] = attempt.ratio or 0.0
        return Run(ratios)


def sample(suite: str, count: int) -> tuple[str, ...]:
    """From the families in turn, the largest first; evenly spaced by name within each."""
    families: dict[str, list[str]] = {}
    for file in sorted(load_suite(suite), key=lambda file: file.id):
        families.setdefault(file.family or "", []).append(file.path)
    ranked = sorted(families.values(), key=len, reverse=True)
    chosen = []
    for place, paths in enumerate(ranked):
        share = (count - place - 1) // len(ranked) + 1
        chosen += [paths[len(paths) * (2 * n + 1) // (2 * share)] for n in range(share)]
    return tuple(chosen)


class Experiment(NamedTuple):
    suite: str
    paths: tuple[str, ...]
    arms: tuple[Arm, ...]


def experiments(arguments: argparse.Namespace) -> list[Experiment]:
    basic, fused = sample("basic", arguments.basic), sample("fused", arguments.fused)
    chosen = []
    if arguments.arms in ("memory", "all"):
        chosen += [Experiment("basic", basic, ON_BASIC), Experiment("fused", fused, ON_FUSED)]
    if arguments.arms in ("skill", "all"):
        chosen.append(Experiment("skill", basic + fused, SKILL))
    return chosen


def run_seed(arguments: argparse.Namespace, seed: int, processors: Sequence[int]) -> None:
    """All arms with one seed, on processors that nobody else uses."""
    os.sched_setaffinity(0, processors)
    lab = Laboratory(arguments.backend, arguments.budget, arguments.rounds, len(processors))
    with lab.judge:
        for experiment in experiments(arguments):
            carry_out(lab, experiment, [seed])


def run_side_by_side(arguments: argparse.Namespace) -> None:
    """Leaves in the workspaces what `carry_out` then only reads."""
    processors = sorted(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    for first in range(1, arguments.seeds + 1, arguments.workers):
        seeds = range(first, min(first + arguments.workers, arguments.seeds + 1))
        workers = []
        for place, seed in enumerate(seeds):
            own = processors[place * PROCESSORS : (place + 1) * PROCESSORS]
            workers.append(context.Process(target=run_seed, args=(arguments, seed, own)))
            workers[-1].start()
        for worker in workers:
            worker.join()


def carry_out(
    lab: Laboratory, experiment: Experiment, seeds: Sequence[int]
) -> dict[str, list[Run]]:
    """What each arm came to, seed by seed."""
    suite, paths, arms = experiment
    tasks = list(describe_tasks(lab.judge, find_tasks(paths), "cpu"))
    runs: dict[str, list[Run]] = {arm.name: [] for arm in arms}
    for seed in seeds:
        for arm in arms:
            begun = time.perf_counter()
            memory = RESULTS / f"basic-{seed}.memory"
            runs[arm.name].append(lab.run(arm, suite, tasks, seed, memory))
            print(f"{suite}, seed {seed}, {arm.name}: {time.perf_counter() - begun:.0f} s")
    return runs


def report(console: Console, experiment: Experiment, runs: dict[str, list[Run]]) -> None:
    suite = experiment.suite
    names = [Path(path).stem for path in experiment.paths]
    budget = next(iter(runs.values()))[0].ratios.shape[1]
    ceiling = np.maximum(1e-9, np.max([r.best[:, -1] for rs in runs.values() for r in rs], axis=0))
    solved = {
        name: _curve(name, rs, lambda r: (r.best > 0).mean(axis=0)) for name, rs in runs.items()
    }
    speed = {
        name: _curve(name, rs, lambda r: (r.best / ceiling[:, None]).mean(axis=0))
        for name, rs in runs.items()
    }
    seeds = len(next(iter(runs.values())))
    table = Table(
        "arm", "first attempt passes", "passed attempts", f"solved at {budget // 3}",
        f"solved at {budget}", "of the best known speed", "first feasible to best",
        title=f"{suite}: {len(names)} tasks, {seeds} seeds, budget {budget}",
    )  # fmt: skip
    for name, rs in runs.items():
        table.add_row(
            name,
            _mean([float((r.ratios[:, 0] > 0).mean()) for r in rs]),
            _mean([float((r.ratios > 0).mean()) for r in rs]),
            _at(solved[name], budget // 3),
            _at(solved[name], budget),
            _at(speed[name], budget),
            _mean([float(np.median(_gains(r))) for r in rs]) + "x",
        )
    console.print(table)
    console.print(f"tasks: {', '.join(names)}", highlight=False)
    draw(list(solved.values()), f"{suite}: share of tasks solved", RESULTS / f"{suite}-solved.svg")
    draw(
        list(speed.values()), f"{suite}: share of best known speed", RESULTS / f"{suite}-speed.svg"
    )
    figures = {n: [r.ratios.tolist() for r in rs] for n, rs in runs.items()}
    (RESULTS / f"{suite}.json").write_bytes(msgspec.json.encode({"tasks": names, "arms": figures}))


def _curve(name: str, rs: list[Run], measure: Callable[[Run], Row]) -> Curve:
    return Curve(name, np.asarray([measure(run) for run in rs]))


def _gains(run: Run) -> Row:
    """Of each solved task: its best over its first."""
    gains = []
    for row in run.ratios:
        passed = row[row > 0]
        if passed.size:
            gains.append(passed.max() / passed[0])
    return np.asarray(gains or [1.0])


def _at(curve: Curve, attempt: int) -> str:
    return f"{curve.mean[attempt - 1]:.3f} +- {curve.error[attempt - 1]:.3f}"


def _mean(values: list[float]) -> str:
    curve = Curve("", np.asarray(values)[:, None])
    return f"{curve.mean[0]:.3f} +- {curve.error[0]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", default="cpp")
    parser.add_argument("--basic", type=int, default=8, help="tasks of `basic`")
    parser.add_argument("--fused", type=int, default=5, help="tasks of `fused`")
    parser.add_argument("--budget", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--arms", choices=("memory", "skill", "all"), default="all")
    parser.add_argument("--workers", type=int, default=1, help="seeds side by side")
    arguments = parser.parse_args()
    least = arguments.workers * PROCESSORS
    if arguments.workers > 1 and least > len(os.sched_getaffinity(0)):
        parser.error(f"{arguments.workers} workers need {least} processors")
    RESULTS.mkdir(parents=True, exist_ok=True)
    if arguments.workers > 1:
        run_side_by_side(arguments)
    lab = Laboratory(arguments.backend, arguments.budget, arguments.rounds, PROCESSORS)
    console = Console(width=130)
    with lab.judge:
        for experiment in experiments(arguments):
            runs = carry_out(lab, experiment, range(1, arguments.seeds + 1))
            report(console, experiment, runs)
    console.print(
        f"{lab.judge.known} verdicts; that of an identical source is reused; "
        f"{processor_name()}, {PROCESSORS} processors a seed, {arguments.rounds} rounds; "
        "+- is one standard error over seeds",
        highlight=False,
    )


if __name__ == "__main__":
    main()
