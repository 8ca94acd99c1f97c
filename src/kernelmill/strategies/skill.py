"""KernelSkill's way: rules say which methods may be tried, one is planned, carried out, checked."""

from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from kernelmill.generators.base import Hint, Parent, Proposal, Stage, Why
from kernelmill.generators.planning import Guidance, Judgement
from kernelmill.memory import Memory
from kernelmill.memory.learning import Earned, learn
from kernelmill.memory.values import constant_step, refine_reward
from kernelmill.skills.library import load_library
from kernelmill.skills.policy import Appraise, Tried, for_repair, guidance
from kernelmill.skills.prediction import check_plan
from kernelmill.skills.starting import base_of, in_force, to_repair
from kernelmill.skills.trajectory import trajectory
from kernelmill.skills.worth import Setting, Worth, credit, device_of, worth_of
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.settings import parse_settings
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Observation, Result, State, Transaction

_MOST_TRACES = 16
_WHY = Why("tried on this task")


class SkillSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    long: Literal["on", "off"] = "on"
    """The long-term memory: rules, methods, and what they have been worth."""
    short: Literal["on", "off"] = "on"
    """The short-term memory: what was tried on this task, and what came of it."""
    folder: str = ""
    """Skills of one's own, beside those that come along."""
    repairs: int = 2
    """How often a refused candidate is repaired before it is given up."""
    patience: int = 4
    """Attempts from one base without a clear win, after which it gives way to the best."""
    alpha: float = 0.3
    """How far a value moves towards a reward."""
    optimism: float = 0.2
    """What a method that was never tried is given in advance."""
    family_prior: float = 3.0
    """Visits a family needs before its own value outweighs the overall one."""


class SkillDriven(Strategy):
    """Repair what was refused; improve the base by one method at a time."""

    name = "skill"

    def __init__(self, settings: str = "") -> None:
        """`key=value` pairs with commas between them, e.g. `long=off,short=off`."""
        self.settings = parse_settings(settings, SkillSettings, self.name)
        folder = self.settings.folder
        self._library = load_library(Path(folder) if folder else None)

    def propose(self, task: Task, history: History) -> Proposal:
        broken = to_repair(history.attempts, self.settings.repairs)
        start = broken or base_of(history.attempts, self.settings.patience)
        parent = None if start is None else history.parent(start)
        path = Stage.DRAFT if broken is not None else Stage.REFINE
        return Proposal(
            task,
            history.backend,
            history.stage,
            history.seed,
            parent=parent,
            context=self._traces(history),
            instruction=instruction(path, parent),
            guidance=self._guidance(task, history, parent),
        )

    def observe(self, observation: Observation, transaction: Transaction) -> None:
        memory = Memory(transaction)
        earned = learn(
            memory,
            observation.attempt,
            observation.result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(constant_step, alpha=self.settings.alpha),
        )
        self._credit(memory, observation.attempt, observation.result, earned)

    def _traces(self, history: History) -> tuple[Hint, ...]:
        if self.settings.short == "off":
            return ()
        base = base_of(history.attempts, self.settings.patience)
        against = (base.ratio if base is not None else None) or 1.0
        tried = [one for one in history.attempts if one.state != State.DECLINED]
        return tuple(
            Hint("trace", _outcome(one), None, one.decisions,
                 refine_reward(one.ratio, against), _WHY)
            for one in tried[-_MOST_TRACES:]
        )  # fmt: skip

    def _guidance(self, task: Task, history: History, parent: Parent | None) -> Guidance | None:
        if parent is None:
            return None
        tried = Tried()
        if self.settings.short == "on":
            steps = trajectory(task, history, self._library)
            tried = Tried(steps, [attempt.decisions for attempt in history.attempts])
        if not parent.verdict.passed:
            return for_repair(tried, in_force(history, parent.attempt))
        if self.settings.long == "off":
            return None
        appraise = self._appraise(history, parent, task.family)
        return guidance(self._library, task, parent, tried, appraise)

    def _appraise(self, history: History, parent: Parent, family: str) -> Appraise:
        memory, settings = Memory(history.database), self.settings
        setting = Setting(history.backend, device_of(parent.verdict), family)

        def worth(rule: str, method: str) -> Worth:
            written = self._library.methods[method]
            return worth_of(
                memory, rule, written, setting, settings.optimism, settings.family_prior
            )

        return worth

    def _credit(self, memory: Memory, attempt: Attempt, result: Result, earned: Earned) -> None:
        """What the attempt says of the method it followed, under the rule that allowed it."""
        proposal, judgement = result.proposal, self._judgement(attempt, result)
        allowed, start = proposal.guidance, proposal.parent
        if judgement is None or allowed is None or start is None:
            return
        followed = _method_of(result)
        if followed in self._library.methods:
            setting = Setting(proposal.backend, device_of(start.verdict), proposal.task.family)
            method, alpha = self._library.methods[followed], self.settings.alpha
            credit(memory, allowed.rule, method, setting, earned, judgement, alpha)

    def _judgement(self, attempt: Attempt, result: Result) -> Judgement | None:
        """None where it says nothing: without a plan, or with a repair that failed."""
        draft, verdict, start = result.draft, result.deciding, result.proposal.parent
        if draft is None or verdict is None or start is None:
            return None
        if draft.plan is not None:
            end = Parent(attempt.id, draft.candidate, verdict, draft.decisions)
            task = result.proposal.task
            return check_plan(self._library, task, draft.plan, start, end).judgement
        return "undecided" if verdict.passed and not start.verdict.passed else None


def _method_of(result: Result) -> str:
    """The one that was planned, or whose implementation was repaired."""
    if result.draft is not None and result.draft.plan is not None:
        return result.draft.plan.method
    guidance = result.proposal.guidance
    return guidance.methods[0].name if guidance is not None and guidance.methods else ""


def _outcome(attempt: Attempt) -> str:
    return f"refused: {attempt.reason}" if attempt.ratio is None else f"{attempt.ratio:.2f}x eager"
