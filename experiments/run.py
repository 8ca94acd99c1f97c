"""One table of a paper: the same tasks, generator and budget for several arms and seeds.

    python experiments/run.py TABLE [--backend cpp] [--generator composer:cold] [--model NAME]
                              [--seeds 5] [--budget 30] [--tasks N]

See experiments/README.md.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from kernelmill.generators.model.model_specs import ModelSpec, resolve_models  # noqa: E402
from kernelmill.records.campaign import NewTask  # noqa: E402
from kernelmill.records.errors import KernelmillError  # noqa: E402
from learning import sample  # noqa: E402 (shared with the benchmarks)
from parts.comparison import Runs, report  # noqa: E402
from parts.experiments import Arm, Experiment, ExperimentRunner, Run, memory_file  # noqa: E402

TABLES, RESULTS = HERE / "tables", HERE / "results"
SECOND = "second"
"""In place of a generator's name: that of --second."""


class TableArm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    strategy: str
    generator: str = ""
    """Empty: the generator of the command line."""
    suites: str = ""
    """The only suite of this arm; empty: all suites of the table."""
    memory: str = ""
    """The arm, above it, whose memory it begins with; empty: an empty memory."""


class PaperTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    beside: str
    """The figures of the paper that it stands beside."""
    tasks: dict[str, int]
    """Number of tasks by suite."""
    arms: tuple[TableArm, ...]


def read_table(name: str) -> PaperTable:
    return msgspec.toml.decode((TABLES / f"{name}.toml").read_text(), type=PaperTable)


def table_names() -> list[str]:
    return sorted(path.stem for path in TABLES.glob("*.toml"))


def paths_of(table: PaperTable, arm: TableArm, most: int | None) -> tuple[str, ...]:
    chosen: list[str] = []
    for suite, count in table.tasks.items():
        if arm.suites in ("", suite):
            chosen += sample(suite, count if most is None else min(most, count), 0)
    return tuple(chosen)


def carry_out(
    lab: ExperimentRunner, table: PaperTable, name: str, arguments: argparse.Namespace
) -> list[tuple[Experiment, Runs]]:
    """The runs of all arms, by the tasks that they share."""
    found: dict[tuple[str, ...], tuple[Experiment, Runs]] = {}
    described: dict[tuple[str, ...], list[NewTask]] = {}
    for arm in table.arms:
        paths = paths_of(table, arm, arguments.tasks)
        own = lab.folder / name
        source = None if not arm.memory else own / "memories" / arm.memory.replace(" ", "-")
        known = {"": arguments.generator, SECOND: arguments.second}
        generator = known.get(arm.generator, arm.generator)
        made = Arm(arm.name, arm.strategy, generator, source)
        experiment, runs = found.setdefault(paths, (Experiment(name, paths, ()), {}))
        kept = own / "memories" / arm.name.replace(" ", "-")
        if paths not in described:
            described[paths] = lab.describe(experiment)
        runs[arm.name] = _seeds(lab, experiment, described[paths], made, kept, arguments.seeds)
    return [
        (one._replace(name=f"{name} ({len(paths)} tasks)"), runs)
        for paths, (one, runs) in found.items()
    ]


def _seeds(
    lab: ExperimentRunner,
    experiment: Experiment,
    tasks: list[NewTask],
    arm: Arm,
    kept: Path,
    seeds: int,
) -> list[Run]:
    """One run per seed; what each has learned is kept for arms that begin with it."""
    kept.mkdir(parents=True, exist_ok=True)
    runs = []
    for seed in range(1, seeds + 1):
        runs.append(lab.run(experiment, arm, tasks, seed, memory_file(kept, seed)))
        print(f"{experiment.name}, {arm.name}, seed {seed}", flush=True)
    return runs


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", nargs="?", choices=table_names())
    parser.add_argument("--list", action="store_true", help="list the tables and their arms")
    parser.add_argument("--backend", default="cpp")
    parser.add_argument("--generator", default="composer:cold")
    parser.add_argument("--second", default="composer", help="generator of the arms named so")
    parser.add_argument("--model", action="append", default=[], help="as for `kernelmill run`")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--tasks", type=int, help="at most this many tasks of each suite")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args(words)
    console = Console(width=150)
    if arguments.list or arguments.table is None:
        for name in table_names():
            table = read_table(name)
            console.print(f"{name}: {table.title}: {', '.join(arm.name for arm in table.arms)}")
        return
    try:
        run(arguments, console)
    except KernelmillError as error:
        parser.error(str(error))


def run(arguments: argparse.Namespace, console: Console) -> None:
    table = read_table(arguments.table)
    models = resolve_models(ModelSpec(tuple(arguments.model)))
    lab = ExperimentRunner(
        arguments.backend,
        arguments.budget,
        arguments.rounds,
        arguments.threads,
        arguments.results,
        models,
    )
    with lab.judge:
        for number, (experiment, runs) in enumerate(
            carry_out(lab, table, arguments.table, arguments), 1
        ):
            folder = lab.folder / arguments.table / f"plots-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            report(console, experiment, runs, folder)
    console.print(f"{table.title}. +- is one standard error over seeds.\n{table.beside}")


if __name__ == "__main__":
    main()
