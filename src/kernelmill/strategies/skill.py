"""KernelSkill's way: rules say which methods may be tried, one is planned, carried out, checked."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from kernelmill.generators.base import Hint, Parent, Proposal, Stage, Why
from kernelmill.generators.planning import Guidance
from kernelmill.memory import Memory
from kernelmill.memory.learning import Earned, learn
from kernelmill.memory.values import constant_step, refine_reward
from kernelmill.skills.library import load_library
from kernelmill.skills.policy import Tried, for_repair, guidance
from kernelmill.skills.prediction import check_plan
from kernelmill.skills.trajectory import trajectory
from kernelmill.skills.worth import Setting, Worth, credit, device_of, worth_of
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.settings import parse_settings
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Observation, Result, State, Transaction

_CLEAR_SHARE, _CLEAR_DIFFERENCE = 1.3, 0.3
"""The base moves to what is this many times as fast, or this much more of eager's speed."""
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
            return for_repair(tried)
        if self.settings.long == "off":
            return None
        worth = self._worth(history, parent, task.family)
        return guidance(self._library, task, parent, tried, worth)

    def _worth(self, history: History, parent: Parent, family: str) -> Callable[[str, str], Worth]:
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
        proposal, draft, verdict = result.proposal, result.draft, result.deciding
        allowed, start = proposal.guidance, proposal.parent
        if draft is None or draft.plan is None or verdict is None:
            return
        method = self._library.methods.get(draft.plan.method)
        if method is None or allowed is None or start is None:
            return
        end = Parent(attempt.id, draft.candidate, verdict, draft.decisions)
        found = check_plan(self._library, proposal.task, draft.plan, start, end)
        setting = Setting(proposal.backend, device_of(start.verdict), proposal.task.family)
        alpha = self.settings.alpha
        credit(memory, allowed.rule, method, setting, earned, found.judgement, alpha)


def base_of(attempts: Sequence[Attempt], patience: int) -> Attempt | None:
    """Where to improve from: it moves on a clear win only, or to the best after too many tries."""
    base: Attempt | None = None
    best: Attempt | None = None
    since = 0
    for attempt in attempts:
        since += 1
        ratio = attempt.ratio
        if ratio is not None and (best is None or ratio > (best.ratio or 0.0)):
            best = attempt
        if ratio is not None and (base is None or _clearly(ratio, base.ratio or 0.0)):
            base, since = attempt, 0
        elif since >= patience and best is not None and best is not base:
            base, since = best, 0
    return base


def _clearly(ratio: float, before: float) -> bool:
    return ratio >= min(_CLEAR_SHARE * before, before + _CLEAR_DIFFERENCE)


def to_repair(attempts: Sequence[Attempt], most: int) -> Attempt | None:
    """The last attempt, where it was refused and was not repaired too often already."""
    known = {attempt.id: attempt for attempt in attempts}
    tried = [attempt for attempt in attempts if attempt.state != State.DECLINED]
    if not tried or tried[-1].state != State.REFUSED:
        return None
    repairs, ancestor = 0, known.get(tried[-1].parent or 0)
    while ancestor is not None and ancestor.state == State.REFUSED:
        repairs, ancestor = repairs + 1, known.get(ancestor.parent or 0)
    return tried[-1] if repairs < most else None


def _outcome(attempt: Attempt) -> str:
    return f"refused: {attempt.reason}" if attempt.ratio is None else f"{attempt.ratio:.2f}x eager"
