"""Comparison of the arms of an experiment: a table, curves over attempts, and raw figures."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from parts.curves import Curve, draw
from parts.experiments import Experiment, Row, Run

Runs = dict[str, list[Run]]
"""The runs of every arm, one per seed."""
_AS_FAST = 0.995
"""Least ratio that counts as at least as fast as the baseline, up to rounding."""


def report(console: Console, experiment: Experiment, runs: Runs, folder: Path) -> None:
    first = next(iter(runs.values()))
    budget = first[0].ratios.shape[1]
    curves = _curves(runs)
    table = Table(
        "arm", "first attempt passes", "attempts that build", "attempts that pass",
        f"solved at {budget // 3}", f"solved at {budget}", "of the best known speed",
        "as fast as the baseline", "first feasible to best",
        title=f"{experiment.name}: {len(experiment.paths)} tasks, {len(first)} seeds, "
        f"budget {budget}",
    )  # fmt: skip
    for name, arm in runs.items():
        table.add_row(
            name,
            _mean([float((r.ratios[:, 0] > 0).mean()) for r in arm]),
            _mean([float(r.built.mean()) for r in arm]),
            _mean([float((r.ratios > 0).mean()) for r in arm]),
            _at(curves["solved"][name], budget // 3),
            _at(curves["solved"][name], budget),
            _at(curves["speed"][name], budget),
            _mean([float((r.best[:, -1] >= _AS_FAST).mean()) for r in arm]),
            _mean([float(np.median(_gains(r))) for r in arm]) + "x",
        )
    console.print(table)
    names = [Path(path).stem for path in experiment.paths]
    console.print(f"tasks: {', '.join(names)}", highlight=False)
    for what, arms in curves.items():
        draw(list(arms.values()), f"{experiment.name}: {what}", folder / f"{what}.svg")
    figures = {n: [r.ratios.tolist() for r in arm] for n, arm in runs.items()}
    (folder / "ratios.json").write_bytes(msgspec.json.encode({"tasks": names, "arms": figures}))


def _curves(runs: Runs) -> dict[str, dict[str, Curve]]:
    """Curves over attempts, by measure and arm: tasks with a built attempt, solved tasks, speed."""
    ceiling = np.max([run.best[:, -1] for arm in runs.values() for run in arm], axis=0)
    ceiling = np.maximum(1e-9, ceiling)
    measures: dict[str, Callable[[Run], Row]] = {
        "built": lambda run: np.maximum.accumulate(run.built, axis=1).mean(axis=0),
        "solved": lambda run: (run.best > 0).mean(axis=0),
        "speed": lambda run: (run.best / ceiling[:, None]).mean(axis=0),
    }
    return {
        what: {
            name: Curve(name, np.asarray([measure(run) for run in arm]))
            for name, arm in runs.items()
        }
        for what, measure in measures.items()
    }


def _gains(run: Run) -> Row:
    """The best ratio over the first one, per solved task."""
    gains = []
    for row in run.ratios:
        passed = row[row > 0]
        if passed.size:
            gains.append(passed.max() / passed[0])
    return np.asarray(gains or [1.0])


def _at(curve: Curve, attempt: int) -> str:
    return f"{curve.mean[attempt - 1]:.3f} +- {curve.error[attempt - 1]:.3f}"


def _mean(values: list[float]) -> str:
    return _at(Curve("", np.asarray(values)[:, None]), 1)
