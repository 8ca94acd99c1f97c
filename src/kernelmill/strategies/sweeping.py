"""Sweeps of templates, on top of any strategy.

Where a generator answered with a template, the next attempts of the task measure combinations of
its parameters. Then the strategy proposes again, with the table of the sweep in its context.
"""

import math
from collections.abc import Iterable

import msgspec

from kernelmill.memory import Memory
from kernelmill.memory.values import refine_reward
from kernelmill.records.attempt import Attempt, Observation
from kernelmill.records.candidate import Candidate
from kernelmill.records.proposal import Draft, Hint, HintReason, Parent, Proposal
from kernelmill.records.search_step import SearchStep
from kernelmill.records.sweep import SweepSettings, TrialPlan
from kernelmill.records.task import Task
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.templates import render_instruction
from kernelmill.sweeps import SweepLog, SweepTrial, plan_trial
from kernelmill.sweeps.halving import due
from kernelmill.sweeps.log import Sweep
from kernelmill.sweeps.optuna_sampler import demand_optuna
from kernelmill.sweeps.table import described, sweep_table
from kernelmill.sweeps.trials import fastest

_TEMPLATE = "template"
"""Name of the search steps that measure a combination of a template."""
_REMEASURED = 2
"""Combinations that are measured again with one attempt, at most."""


class Sweeping(Strategy):
    """A strategy whose generator may answer with templates."""

    name = "sweeping"

    def __init__(self, inner: Strategy, settings: SweepSettings) -> None:
        """Raises UsageError where the settings need something that is not installed."""
        self._inner = inner
        self.settings = settings
        if settings.sampler == "optuna":
            demand_optuna()

    def propose(self, task: Task, history: History) -> Proposal:
        log = log_of(history)
        sweep = None if log is None else log.latest(is_template=True)
        if log is None or sweep is None:
            return self._proposal(task, history)
        trials = log.trials(sweep.attempt)
        again = [_parent(history, number) for number in due(trials, _REMEASURED)]
        remeasure = [one for one in again if one is not None]
        owner = history.attempt(sweep.attempt)
        plan = None
        if owner is not None and len(trials) < self.settings.combinations:
            plan = plan_trial(sweep.attempt, sweep.space, trials, self.settings, history.seed)
        if plan is None or owner is None:
            return self._after(task, history, sweep, trials, remeasure)
        parent = history.parent(owner)
        files = sweep.space.filled(plan.choices)
        candidate = Candidate(files, parent.candidate.origin, task.id)
        return history.proposal(
            task,
            parent=parent,
            instruction=render_instruction("sweep", choices=described(plan.choices)),
            remeasure=remeasure,
            step=SearchStep(_TEMPLATE, "sweep", sweep.island, trial=plan),
            draft=Draft(candidate, owner.decisions),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        self._inner.observe(observation, memory)
        attempt, result = observation.attempt, observation.result
        draft, step = result.draft, result.proposal.step
        if draft is None or result.deciding is None or result.deciding.is_lost:
            return
        log = SweepLog(memory.database, attempt.campaign, attempt.task)
        if step is not None and step.trial is not None and step.strategy == _TEMPLATE:
            log.add(attempt.id, step.trial)
        elif draft.space is not None and draft.space.files:
            latest = log.latest(is_template=True)
            if latest is not None and latest.space == draft.space:
                return  # it has been swept
            island = 0 if step is None else step.island
            log.open(Sweep(attempt.id, island, draft.space))
            log.add(attempt.id, TrialPlan(attempt.id, draft.space.defaults))

    def _proposal(self, task: Task, history: History) -> Proposal:
        proposal = self._inner.propose(task, history)
        return msgspec.structs.replace(proposal, combinations=self.settings.combinations)

    def _after(
        self,
        task: Task,
        history: History,
        sweep: Sweep,
        trials: list[SweepTrial],
        remeasure: Iterable[Parent],
    ) -> Proposal:
        """What the strategy proposes, with the table of the last sweep."""
        proposal = self._proposal(task, history)
        known = {one.attempt for one in proposal.remeasure}
        more = tuple(one for one in remeasure if one.attempt not in known)
        table = _table_hint(sweep, trials, proposal.parent)
        return msgspec.structs.replace(
            proposal,
            context=(*proposal.context, *([table] if len(trials) > 1 else [])),
            remeasure=(*proposal.remeasure, *more),
        )


def log_of(history: History) -> SweepLog | None:
    """The sweeps of the history's task; None before its first attempt."""
    for latest in history.recent(1):
        return SweepLog(history.memory.database, latest.campaign, latest.task)
    return None


def _parent(history: History, number: int) -> Parent | None:
    attempt: Attempt | None = history.attempt(number)
    return None if attempt is None else history.parent(attempt)


def _table_hint(sweep: Sweep, trials: list[SweepTrial], parent: Parent | None) -> Hint:
    best = fastest(trials)
    latency = None if parent is None else parent.verdict.latency
    reference = 1.0 if latency is None else latency.over_baseline.ratio
    speed = None if best is None or best.fitness is None else math.exp(best.fitness.level)
    return Hint(
        "trace",
        sweep_table(sweep.attempt, sweep.space, trials),
        outcome=refine_reward(speed, reference),
        why=HintReason("its best combination is a candidate of its own"),
    )
