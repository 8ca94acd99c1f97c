"""EvoKernel's way: what is shown and what is refined is chosen by values learned from verdicts."""

import random
from functools import partial
from typing import Literal

from kernelmill.generators.base import Parent, Proposal, Stage
from kernelmill.generators.decisions import Decisions, was_tried
from kernelmill.memory import Item, ItemKind, Memory, Role
from kernelmill.memory.items import identifiers
from kernelmill.memory.learning import learn
from kernelmill.memory.lessons import bottleneck_of
from kernelmill.memory.retrieval import Query, Retriever, Settings, choose_start
from kernelmill.memory.subjects import described, task_subject
from kernelmill.memory.values import constant_step, decreasing_step
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.settings import parse_settings
from kernelmill.strategies.tried import answered, tried_hints
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Observation, State, Transaction

_CONTRACT = "contract"
"""The chapter of every guide that a draft cannot do without."""
_STEPS = {"constant": constant_step, "decreasing": decreasing_step}


class ValueSettings(Settings, frozen=True, forbid_unknown_fields=True):
    alpha: float = 0.1
    """How far a value moves towards a reward."""
    steps: Literal["constant", "decreasing"] = "constant"


class ValueDriven(Strategy):
    """Draft from what helped others to pass; refine from what helped others to be fast."""

    name = "value"

    def __init__(self, settings: str = "") -> None:
        """`key=value` pairs with commas between them, e.g. `rank=similarity,shown=8`."""
        self.settings = parse_settings(settings, ValueSettings, self.name)
        self._retriever = Retriever(self.settings)

    def propose(self, task: Task, history: History) -> Proposal:
        memory = Memory(history.database)
        dice = random.Random(history.seed)
        start = self._start(memory, history, dice)
        parent = None if start is None else history.parent(start)
        query = _query(task, history, parent)
        return Proposal(
            task,
            history.backend,
            history.stage,
            history.seed,
            parent=parent,
            context=(
                *self._retriever.retrieve(memory, query, dice),
                *tried_hints(history.attempts, start),
            ),
            instruction=instruction(history.stage, parent),
        )

    def observe(self, observation: Observation, transaction: Transaction) -> None:
        settings = self.settings
        learn(
            Memory(transaction),
            observation.attempt,
            observation.result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(_STEPS[settings.steps], alpha=settings.alpha),
        )

    def _start(self, memory: Memory, history: History, dice: random.Random) -> Attempt | None:
        """Where to start: by value among those that passed; before that, the last that failed."""
        passed = {one.id: one for one in history.attempts if one.state == State.PASSED}
        traces = memory.of_attempts(passed)
        if not traces:
            tried = answered(history.attempts)
            return history.best or (tried[-1] if tried else None)
        values = memory.values([item.id for item in traces.values()], Role.START)
        number = len(history.attempts)
        chosen = choose_start(list(traces.values()), values, self.settings, number, dice)
        return passed[chosen.provenance.attempt or 0]


def _query(task: Task, history: History, parent: Parent | None) -> Query:
    role = Role.DRAFT if history.stage is Stage.DRAFT else Role.REFINE
    at_hand = parent.decisions if parent is not None and parent.verdict.passed else {}
    bottleneck = bottleneck_of(parent) if role is Role.REFINE else ""
    own = {attempt.id for attempt in history.attempts}
    tried = [attempt.decisions for attempt in history.attempts if attempt.decisions]

    def useful(item: Item) -> bool:
        if item.kind is ItemKind.TRACE and item.provenance.attempt in own:
            return False
        return not item.decisions or _says_something(item, at_hand, tried)

    return Query(
        text=f"{task_subject(task)} {history.stage} {described(at_hand)} {bottleneck}",
        task=task.id,
        family=task.family,
        backend=history.backend,
        role=role,
        bottleneck=bottleneck,
        chapter=_CONTRACT if role is Role.DRAFT else bottleneck,
        names=() if parent is None else identifiers(_code(parent)),
        attempts=len(history.attempts),
        stale=_stale(history),
        useful=useful,
    )


def _says_something(item: Item, at_hand: Decisions, tried: list[Decisions]) -> bool:
    """Not where it is on what is not open here, is followed already, or was tried."""
    if not at_hand:
        return True
    told = {name: choice for name, choice in item.decisions.items() if name in at_hand}
    if (item.outcome or 0.0) < 0:
        return bool(told)
    return not was_tried(at_hand | told, (at_hand, *tried))


def _stale(history: History) -> int:
    """Attempts since the task last made progress."""
    best, since = 0.0, 0
    for attempt in history.attempts:
        improved = (attempt.ratio or 0.0) > best
        best, since = max(best, attempt.ratio or 0.0), 0 if improved else since + 1
    return since


def _code(parent: Parent) -> str:
    return "\n".join(parent.candidate.files.values())
