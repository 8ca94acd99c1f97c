"""The `sweep` strategy: sweeps the decisions of a generator that works by decisions.

It drafts as `value` does. Once a kernel has passed, the surrogate chooses the decisions of each
attempt, until all that is left is sure to lose. Then `value` refines.
"""

from collections.abc import Sequence

import msgspec

from kernelmill.memory import Memory
from kernelmill.records.attempt import Observation
from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.sweep import SweepSettings, SweepSpace, TrialPlan
from kernelmill.records.task import Task
from kernelmill.strategies.attempt_hints import attempt_hints
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.settings import parse_settings
from kernelmill.strategies.sweeping import log_of
from kernelmill.strategies.templates import render_instruction
from kernelmill.strategies.value import ValueDriven
from kernelmill.sweeps import SweepLog, SweepTrial, plan_trial
from kernelmill.sweeps.halving import due
from kernelmill.sweeps.log import Sweep
from kernelmill.sweeps.optuna_sampler import demand_optuna
from kernelmill.sweeps.table import described
from kernelmill.sweeps.trials import fastest

_REMEASURED = 1
"""Combinations that are measured again with one attempt, at most."""


class DecisionSweep(Strategy):
    name = "sweep"

    def __init__(self, settings: str = "") -> None:
        """`settings`: nothing, or `sampler=optuna`."""
        self.settings = parse_settings(settings, SweepSettings, f"strategy {self.name}")
        if self.settings.sampler == "optuna":
            demand_optuna()
        self._value = ValueDriven()

    def propose(self, task: Task, history: History) -> Proposal:
        log = log_of(history)
        sweep = None if log is None else log.latest(is_template=False)
        if log is None or sweep is None or history.best is None:
            draft = self._value.propose(task, history)
            return msgspec.structs.replace(draft, step=SearchStep(self.name, "draft"))
        trials = log.trials(sweep.attempt)
        asked = {one.instruction for one in history.attempts}
        plan = plan_trial(
            sweep.attempt,
            sweep.space,
            trials,
            self.settings,
            history.seed,
            lambda choices: _instruction(choices) in asked,
        )
        if plan is None:
            refined = self._value.propose(task, history)
            return msgspec.structs.replace(refined, step=SearchStep(self.name, "refine"))
        return self._measure(task, history, trials, plan)

    def observe(self, observation: Observation, memory: Memory) -> None:
        self._value.observe(observation, memory)
        log_decisions(observation, memory)

    def _measure(
        self, task: Task, history: History, trials: Sequence[SweepTrial], plan: TrialPlan
    ) -> Proposal:
        best = fastest(trials)
        base = None if best is None else history.attempt(best.attempt)
        start = base or history.best
        again = [history.attempt(number) for number in due(trials, _REMEASURED)]
        attempts = history.attempts
        return history.proposal(
            task,
            stage=Stage.REFINE,
            parent=None if start is None else history.parent(start),
            context=attempt_hints(attempts, start, history.parent, len(attempts)),
            instruction=_instruction(plan.choices),
            decisions=plan.choices,
            remeasure=[history.parent(one) for one in again if one is not None],
            step=SearchStep(self.name, "sweep", trial=plan),
        )


def log_decisions(observation: Observation, memory: Memory) -> None:
    """Make a trial of an attempt whose generator works by decisions, whoever proposed it."""
    attempt, result = observation.attempt, observation.result
    draft = result.draft
    if draft is None or result.deciding is None or result.deciding.is_lost:
        return
    space = draft.space
    if space is None or space.files or not _covers(space, draft.decisions):
        return
    log = SweepLog(memory.database, attempt.campaign, attempt.task)
    sweep = log.latest(is_template=False)
    if sweep is None or sweep.space != space:
        sweep = Sweep(attempt.id, 0, space)
        log.open(sweep)
    choices = {one.name: draft.decisions[one.name] for one in space.parameters}
    step = result.proposal.step
    plan = None if step is None else step.trial
    as_planned = plan is not None and plan.sweep == sweep.attempt and plan.choices == choices
    log.add(attempt.id, plan if plan and as_planned else TrialPlan(sweep.attempt, choices))


def _covers(space: SweepSpace, decisions: Decisions) -> bool:
    return all(decisions.get(one.name) in one.choices for one in space.parameters)


def _instruction(choices: Decisions) -> str:
    return render_instruction("sweep", choices=described(choices))
