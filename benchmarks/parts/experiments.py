"""Experiments: one campaign per arm and seed, each in a workspace that is kept."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.backends import get_backend
from kernelmill.campaign import Components, RunLimits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators import get_generator
from kernelmill.generators.base import Generator
from kernelmill.judge import JudgeSettings
from kernelmill.memory import Memory
from kernelmill.memory.transfer import export_memory, import_memory
from kernelmill.records.attempt import State
from kernelmill.records.campaign import CampaignSettings, NewTask
from kernelmill.records.model_settings import ModelSettings
from kernelmill.records.verdict import Gate
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from parts.reusing_judge import ReusingJudge

Row = npt.NDArray[np.float64]
_GATES_BEFORE_BUILT = (Gate.INTEGRITY, Gate.BUILD)
_EXPORTED_ARM = "value"
"""The arm whose memory is exported, for other arms to start from."""


class Arm(NamedTuple):
    name: str
    strategy: str
    generator: str = "composer:cold"
    memory: Path | None = None
    """The folder with the memory it starts from, one file per seed."""


class Experiment(NamedTuple):
    name: str
    paths: tuple[str, ...]
    arms: tuple[Arm, ...]


class Run(NamedTuple):
    """The attempts of one arm with one seed, as matrices of tasks by attempts."""

    built: Row
    """1 where the attempt built."""
    ratios: Row
    """The baseline's time over the candidate's; 0 where the attempt was refused."""

    @property
    def best(self) -> Row:
        return np.maximum.accumulate(self.ratios, axis=1)


class ExperimentRunner:
    """Runs experiments on one backend, with one judge and generators that all runs share."""

    def __init__(
        self,
        backend: str,
        budget: int,
        rounds: int,
        threads: int,
        results: Path,
        models: ModelSettings | None = None,
    ) -> None:
        self._models = models
        self.budget = budget
        self.backend = get_backend(backend)
        self.folder = results_of(results, backend)
        self._backend_name = backend
        settings = JudgeSettings(rounds=rounds, threads=threads)
        self.judge = ReusingJudge(self.backend, settings, self.folder / "verdicts")
        self._generators: dict[str, Generator] = {}

    def describe(self, experiment: Experiment) -> list[NewTask]:
        entries = find_tasks(experiment.paths)
        return list(describe_tasks(self.judge, entries, self.backend.scale))

    def run(
        self,
        experiment: Experiment,
        arm: Arm,
        tasks: list[NewTask],
        seed: int,
        kept: Path | None = None,
    ) -> Run:
        """The run of an arm with a seed; `kept` is the file for what it has learned."""
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
                        import_memory(Memory(transaction), memory_file(arm.memory, seed))
                campaign = workspace.create_campaign(settings, tasks)
            components = Components(
                (self.judge,), self._generator(arm.generator), get_strategy(arm.strategy)
            )
            run_campaign(workspace, campaign, components, RunLimits(), Watcher())
            if arm.name == _EXPORTED_ARM:
                kept = kept or memory_file(self.folder / experiment.name, seed)
            if kept is not None:
                export_memory(Memory(workspace.database), kept, experiment.name)
            return self._read(workspace)

    def _generator(self, name: str) -> Generator:
        if name not in self._generators:
            self._generators[name] = get_generator(name, self._models if name == "model" else None)
        return self._generators[name]

    def _read(self, workspace: Workspace) -> Run:
        campaign = workspace.campaign()
        entries = workspace.tasks(campaign)
        run = Run(*(np.zeros((len(entries), self.budget)) for _ in Run._fields))
        for row, entry in enumerate(entries):
            for attempt in workspace.attempts(campaign, entry.task or 0):
                passed = attempt.state == State.PASSED
                refused = attempt.state == State.REFUSED
                built = passed or (refused and attempt.gate not in _GATES_BEFORE_BUILT)
                run.built[row, attempt.number - 1] = built
                run.ratios[row, attempt.number - 1] = (attempt.ratio or 0.0) if passed else 0.0
        return run


def results_of(results: Path, backend: str) -> Path:
    return results / backend.replace(":", "-")


def memory_file(folder: Path, seed: int) -> Path:
    return folder / f"{seed}.memory"
