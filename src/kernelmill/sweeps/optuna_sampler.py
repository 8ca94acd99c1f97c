"""Optuna's TPE sampler as the one who chooses the combinations of a sweep."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kernelmill.records.decisions import Decisions
from kernelmill.records.errors import UsageError
from kernelmill.records.sweep import SweepSpace
from kernelmill.sweeps.trials import SweepTrial

_ASKED = 64
"""Suggestions that are asked for until one of them may be measured."""
_SEEDS = 2**32


def demand_optuna() -> None:
    """Raises UsageError where Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "sampler=optuna needs Optuna: pip install 'kernelmill[sweeps]', or leave it out"
        ) from error


class OptunaSampler:
    """A study in RAM, made anew from the stored trials for every suggestion."""

    def __init__(self, space: SweepSpace, trials: Sequence[SweepTrial], seed: int) -> None:
        demand_optuna()
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._distributions: dict[str, optuna.distributions.BaseDistribution] = {
            one.name: optuna.distributions.CategoricalDistribution(one.choices)
            for one in space.parameters
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                n_startup_trials=4, multivariate=True, seed=seed % _SEEDS
            )
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        for one in trials:
            state = optuna.trial.TrialState
            self._study.add_trial(
                optuna.trial.create_trial(
                    params=one.choices,
                    distributions=self._distributions,
                    value=None if one.fitness is None else one.fitness.level,
                    state=state.FAIL if one.fitness is None else state.COMPLETE,
                )
            )

    def choose(self, live: Mapping[int, Decisions], improvement: npt.NDArray[np.float64]) -> int:
        """The first suggestion that may be measured; else the one that promises most."""
        import optuna

        for _ in range(_ASKED):
            trial = self._study.ask(self._distributions)
            for index, choices in live.items():
                if choices == trial.params:
                    return index
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return max(live, key=lambda index: (improvement[index], -index))
