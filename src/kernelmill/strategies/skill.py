"""The `skill` strategy, after KernelSkill: one method at a time, as the rules allow."""

import random
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from kernelmill.memory import Memory
from kernelmill.memory.learning import AttemptReward, learn
from kernelmill.memory.retrieval import RetrievalSettings, Retriever
from kernelmill.memory.values import constant_step
from kernelmill.records.attempt import Attempt, Observation, Result, State
from kernelmill.records.guidance import Guidance, Judgement
from kernelmill.records.proposal import Hint, Parent, Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.skills.library import load_library
from kernelmill.skills.method_values import (
    MethodValue,
    ValueScope,
    credit_method,
    device_of,
    method_value,
)
from kernelmill.skills.policy import PastAttempts, ValueLookup, guidance, repair_guidance
from kernelmill.skills.prediction import check_plan
from kernelmill.skills.start_selection import attempt_to_repair, base_attempt, method_in_repair
from kernelmill.skills.trajectory import trajectory
from kernelmill.strategies.attempt_hints import attempt_hints
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.item_query import item_query
from kernelmill.strategies.settings import parse_settings


class SkillSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    long: Literal["on", "off"] = "on"
    """Whether rules, methods and their learned values are used (long-term memory)."""
    short: Literal["on", "off"] = "on"
    """Whether the task's earlier attempts and their outcomes are used (short-term memory)."""
    start: Literal["workspace", "campaign"] = "workspace"
    """Whether a task that another campaign solved begins with improving what that one found."""
    folder: str = ""
    """A folder of skills to use beside the shipped ones."""
    experiences: int = 3
    """Items of the memory that are shown with the rules; 0: none."""
    repairs: int = 2
    """Repairs of a refused candidate before it is given up."""
    patience: int = 4
    """Attempts from one base without a clear win, after which the best attempt is the base."""
    alpha: float = 0.3
    """Step size: the share of the way that a value moves towards a reward."""
    optimism: float = 0.2
    """Exploration bonus of a method that was never tried."""
    family_prior: float = 3.0
    """Visits at which a family's value weighs as much as the overall one."""


class SkillDriven(Strategy):
    """Repairs a refused attempt; improves the base by one method at a time."""

    name = "skill"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `key=value` pairs joined by commas, for example `long=off,short=off`."""
        self.settings = parse_settings(settings, SkillSettings, f"strategy {self.name}")
        folder = self.settings.folder
        self._library = load_library(Path(folder) if folder else None)
        self._retriever = Retriever(RetrievalSettings(shown=max(1, self.settings.experiences)))

    def propose(self, task: Task, history: History) -> Proposal:
        refused = attempt_to_repair(history.attempts, self.settings.repairs)
        start = refused or self._base(history)
        parent = None if start is None else history.parent(start)
        stage = Stage.DRAFT if refused is not None else Stage.REFINE
        passed = parent is not None and parent.verdict.passed
        return history.proposal(
            task,
            stage=Stage.REFINE if passed else history.stage,
            parent=parent,
            context=(*self._experiences(task, history, parent), *self._hints(history)),
            instruction=instruction(stage, parent),
            guidance=self._guidance(task, history, parent),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        reward = learn(
            memory,
            observation.attempt,
            observation.result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(constant_step, alpha=self.settings.alpha),
        )
        if reward is not None:
            self._credit(memory, observation.attempt, observation.result, reward)

    def _base(self, history: History) -> Attempt | None:
        """The attempt to improve: at first the best of earlier campaigns."""
        own = base_attempt(history.attempts, self.settings.patience)
        if own is not None or self.settings.start == "campaign":
            return own
        return next((one for one in history.earlier if one.state == State.PASSED), None)

    def _experiences(self, task: Task, history: History, parent: Parent | None) -> list[Hint]:
        """What other tasks have left in the memory (long-term memory)."""
        if self.settings.long == "off" or not self.settings.experiences:
            return []
        passed = parent is not None and parent.verdict.passed
        stage = Stage.REFINE if passed else Stage.DRAFT
        query = item_query(task, history, parent, stage)
        return self._retriever.retrieve(history.memory, query, random.Random(history.seed))

    def _hints(self, history: History) -> tuple[Hint, ...]:
        if self.settings.short == "off":
            return ()
        base = self._base(history)
        return tuple(attempt_hints(history.attempts, base, history.parent))

    def _guidance(self, task: Task, history: History, parent: Parent | None) -> Guidance | None:
        if parent is None:
            return None
        past = PastAttempts()
        if self.settings.short == "on":
            steps = trajectory(task, history, self._library)
            past = PastAttempts(steps, [attempt.decisions for attempt in history.attempts])
        if not parent.verdict.passed:
            return repair_guidance(past, method_in_repair(history, parent.attempt))
        if self.settings.long == "off":
            return None
        value_of = self._value_lookup(history, parent, task.family)
        return guidance(self._library, task, parent, past, value_of)

    def _value_lookup(self, history: History, parent: Parent, family: str) -> ValueLookup:
        memory, settings = history.memory, self.settings
        scope = ValueScope(history.backend, device_of(parent.verdict), family)

        def value_of(rule: str, name: str) -> MethodValue:
            method = self._library.methods[name]
            return method_value(
                memory, rule, method, scope, settings.optimism, settings.family_prior
            )

        return value_of

    def _credit(
        self, memory: Memory, attempt: Attempt, result: Result, reward: AttemptReward
    ) -> None:
        """Update the value of the method that the attempt followed."""
        proposal, judgement = result.proposal, self._judgement(attempt, result)
        allowed, start = proposal.guidance, proposal.parent
        if judgement is None or allowed is None or start is None:
            return
        method = self._library.methods.get(_method_of(result))
        if method is not None and method.on(proposal.backend) is not None:
            scope = ValueScope(proposal.backend, device_of(start.verdict), proposal.task.family)
            alpha = self.settings.alpha
            credit_method(memory, allowed.rule, method, scope, reward, judgement, alpha)

    def _judgement(self, attempt: Attempt, result: Result) -> Judgement | None:
        """None for an attempt without a plan, and for a repair that failed."""
        draft, verdict, start = result.draft, result.deciding, result.proposal.parent
        if draft is None or verdict is None or start is None:
            return None
        if draft.plan is not None:
            end = Parent(attempt.id, draft.candidate, verdict, draft.decisions)
            task = result.proposal.task
            return check_plan(self._library, task, draft.plan, start, end).judgement
        return "undecided" if verdict.passed and not start.verdict.passed else None


def _method_of(result: Result) -> str:
    """Name of the method that was planned, or whose implementation was repaired."""
    if result.draft is not None and result.draft.plan is not None:
        return result.draft.plan.method
    guidance = result.proposal.guidance
    return guidance.methods[0].name if guidance is not None and guidance.methods else ""
