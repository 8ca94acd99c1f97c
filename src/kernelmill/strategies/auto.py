"""The `auto` strategy: a bandit over the other strategies, per task, by what each has brought."""

import random
from collections.abc import Sequence

import msgspec

from kernelmill.archive import Archive, Offspring
from kernelmill.memory import Memory
from kernelmill.records.attempt import Observation
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Proposal
from kernelmill.records.search_step import SearchStep
from kernelmill.records.task import Task
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.best_of_n import BestOfN
from kernelmill.strategies.evolve import Evolve
from kernelmill.strategies.refine import Refine
from kernelmill.strategies.settings import parse_settings
from kernelmill.strategies.skill import SkillDriven
from kernelmill.strategies.sweep import DecisionSweep, log_decisions
from kernelmill.strategies.tree import IntentTree
from kernelmill.strategies.value import ValueDriven

_RECENT, _ELSEWHERE = 64, 256
_DECAY = 0.95
"""Factor by which an outcome counts less for every later one."""
_OTHER_TASKS = 0.3
"""Weight of an outcome on another task of the campaign."""
_PRIOR_SUCCESSES, _PRIOR_FAILURES = 1.0, 2.0
_FULL_PAY = 0.1
"""Logarithm of the speed-up over the best so far that counts as a whole success."""


class AutoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    arms: str = "value+evolve+tree+skill+refine+best-of-n"
    """Strategies to choose among, joined by `+`."""


class Auto(Strategy):
    """Proposes what one of its arms proposes. All arms share history, memory and archive of a task:
    each goes on from what the others have found."""

    name = "auto"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `arms=`, and names of strategies joined by `+`."""
        self.settings = parse_settings(settings, AutoSettings, f"strategy {self.name}")
        self._evolve, self._value = Evolve(), ValueDriven()
        built_in: tuple[Strategy, ...] = (
            self._value, self._evolve, IntentTree(), SkillDriven(), Refine(), BestOfN(),
            DecisionSweep(),
        )  # fmt: skip
        known = {strategy.name: strategy for strategy in built_in}
        names = self.settings.arms.split("+")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UsageError(
                f"strategy auto: no arm is called {unknown[0]!r}; there are {', '.join(known)}"
            )
        self._arms = {name: known[name] for name in names}

    def propose(self, task: Task, history: History) -> Proposal:
        arm = self._choose(history)
        proposal = self._arms[arm].propose(task, history)
        if proposal.step is not None:
            return proposal
        return msgspec.structs.replace(proposal, step=SearchStep(arm))

    def observe(self, observation: Observation, memory: Memory) -> None:
        step = observation.result.proposal.step
        arm = self._value if step is None else self._arms.get(step.strategy, self._value)
        # These two learn nothing: what they find is worth as much to the others.
        learner = self._value if isinstance(arm, Refine | BestOfN | DecisionSweep) else arm
        learner.observe(observation, memory)
        if learner is not self._evolve:
            self._evolve.archive(observation, memory)
        if DecisionSweep.name in self._arms:
            log_decisions(observation, memory)

    def _choose(self, history: History) -> str:
        """Thompson sampling. The first arm drafts until the task is solved: it has the memory."""
        first = next(iter(self._arms))
        latest = history.recent(1)
        if not latest:
            return first
        archive = Archive(history.memory.database, latest[0].campaign, latest[0].task)
        here = archive.recent(_RECENT)
        if not any(one.speed is not None for one in here):
            return first
        rng = random.Random(f"auto {history.seed}")
        draws = self._draws(here, archive.recent_elsewhere(_ELSEWHERE), rng)
        return max(draws, key=lambda arm: draws[arm])

    def _draws(
        self, here: Sequence[Offspring], elsewhere: Sequence[Offspring], rng: random.Random
    ) -> dict[str, float]:
        successes = dict.fromkeys(self._arms, _PRIOR_SUCCESSES)
        failures = dict.fromkeys(self._arms, _PRIOR_FAILURES)
        for weight, offspring in ((1.0, here), (_OTHER_TASKS, elsewhere)):
            for age, one in enumerate(offspring):
                if one.strategy not in successes:
                    continue
                share, paid = weight * _DECAY**age, min(1.0, one.progress / _FULL_PAY)
                successes[one.strategy] += share * paid
                failures[one.strategy] += share * (1.0 - paid)
        return {arm: rng.betavariate(successes[arm], failures[arm]) for arm in self._arms}
