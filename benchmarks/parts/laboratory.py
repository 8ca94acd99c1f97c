"""Where experiments are carried out: a campaign for each arm and seed, in a workspace to keep."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.backends import get_backend
from kernelmill.campaign import Crew, Limits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators import get_generator
from kernelmill.generators.base import Generator
from kernelmill.judge import Gate, Settings
from kernelmill.memory import Memory
from kernelmill.memory.transfer import export, import_file
from kernelmill.strategies import get_strategy
from kernelmill.workspace import CampaignSettings, NewTask, State, Workspace
from parts.reusing_judge import ReusingJudge

Row = npt.NDArray[np.float64]
_BEFORE_BUILT = (Gate.INTEGRITY, Gate.BUILD)
_REMEMBERED = "value"
"""The arm whose memory is kept for others to start from."""


class Arm(NamedTuple):
    name: str
    strategy: str
    generator: str = "composer:cold"
    memory: Path | None = None
    """What it starts from: one file a seed in this folder."""


class Experiment(NamedTuple):
    name: str
    paths: tuple[str, ...]
    arms: tuple[Arm, ...]


class Run(NamedTuple):
    """One arm with one seed: what each attempt of each task came to. Tasks by attempts."""

    built: Row
    """1 where the tool chain took it."""
    ratios: Row
    """Of the baseline's time to its own; 0 where it was refused."""

    @property
    def best(self) -> Row:
        return np.maximum.accumulate(self.ratios, axis=1)


class Laboratory:
    """What all runs on one backend share."""

    def __init__(self, backend: str, budget: int, rounds: int, threads: int, results: Path) -> None:
        self.budget = budget
        self.backend = get_backend(backend)
        self.folder = results_of(results, backend)
        self._backend_name = backend
        settings = Settings(rounds=rounds, threads=threads)
        self.judge = ReusingJudge(self.backend, settings, self.folder / "verdicts")
        self._generators: dict[str, Generator] = {}

    def describe(self, experiment: Experiment) -> list[NewTask]:
        entries = find_tasks(experiment.paths)
        return list(describe_tasks(self.judge, entries, self.backend.scale))

    def run(self, experiment: Experiment, arm: Arm, tasks: list[NewTask], seed: int) -> Run:
        settings = CampaignSettings(
            experiment.paths, self._backend_name, arm.generator, arm.strategy, self.budget, seed,
            self.backend.scale, self.judge.settings.threads, compiled=False,
        )  # fmt: skip
        folder = self.folder / experiment.name / arm.name.replace(", ", "-").replace(" ", "-")
        with Workspace(folder / str(seed), create=True) as workspace:
            if workspace.campaigns():
                campaign = workspace.campaign()
            else:
                if arm.memory is not None:
                    with workspace.writing() as transaction:
                        import_file(Memory(transaction), memory_file(arm.memory, seed))
                campaign = workspace.create_campaign(settings, tasks)
            crew = Crew(self.judge, self._generator(arm.generator), get_strategy(arm.strategy))
            run_campaign(workspace, campaign, crew, Limits(), Watcher())
            if arm.name == _REMEMBERED:
                kept = memory_file(self.folder / experiment.name, seed)
                export(Memory(workspace.database), kept, experiment.name)
            return self._read(workspace)

    def _generator(self, name: str) -> Generator:
        if name not in self._generators:
            self._generators[name] = get_generator(name)
        return self._generators[name]

    def _read(self, workspace: Workspace) -> Run:
        campaign = workspace.campaign()
        entries = workspace.tasks(campaign)
        run = Run(*(np.zeros((len(entries), self.budget)) for _ in Run._fields))
        for place, entry in enumerate(entries):
            for attempt in workspace.attempts(campaign, entry.task or 0):
                passed = attempt.state == State.PASSED
                refused = attempt.state == State.REFUSED
                built = passed or (refused and attempt.gate not in _BEFORE_BUILT)
                run.built[place, attempt.number - 1] = built
                run.ratios[place, attempt.number - 1] = (attempt.ratio or 0.0) if passed else 0.0
        return run


def results_of(results: Path, backend: str) -> Path:
    return results / backend.replace(":", "-")


def memory_file(folder: Path, seed: int) -> Path:
    return folder / f"{seed}.memory"
