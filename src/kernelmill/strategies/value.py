"""The `value` strategy, after EvoKernel: items and start points are chosen by learned values."""

import random
from functools import partial
from typing import Literal, NamedTuple

from kernelmill.memory import Item, ItemKind, Memory, ValueRole
from kernelmill.memory.embedding_text import decisions_text, task_text
from kernelmill.memory.failure_evidence import FailureEvidence, failure_evidence
from kernelmill.memory.item_extraction import bottleneck_of
from kernelmill.memory.items import identifiers, item_fingerprint
from kernelmill.memory.learning import learn
from kernelmill.memory.retrieval import Query, RetrievalSettings, Retriever, choose_start
from kernelmill.memory.values import constant_step, decreasing_step
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.decisions import APPROACH, Decisions, was_tried
from kernelmill.records.proposal import Parent, Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.strategies.attempt_hints import attempt_hints, judged
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.settings import parse_settings

_CONTRACT = "contract"
"""The chapter of a guide whose facts every draft is shown."""
_STEPS = {"constant": constant_step, "decreasing": decreasing_step}


class ValueSettings(RetrievalSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    alpha: float = 0.1
    """Step size: the share of the way that a value moves towards a reward."""
    steps: Literal["constant", "decreasing"] = "constant"
    unused: float = 0.3
    """Share of a step for items that were shown and not used; 1 credits all that was shown."""


class ValueDriven(Strategy):
    """Drafts with items that helped others to pass, refines with those that made them fast."""

    name = "value"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `key=value` pairs joined by commas, such as `rank=similarity,shown=8`."""
        self.settings = parse_settings(settings, ValueSettings, self.name)
        self._retriever = Retriever(self.settings)

    def propose(self, task: Task, history: History) -> Proposal:
        memory = history.memory
        rng = random.Random(history.seed)
        start = self._start(memory, history, rng)
        parent = None if start is None else history.parent(start)
        query = _query(task, history, parent)
        return history.proposal(
            task,
            parent=parent,
            context=(
                *self._retriever.retrieve(memory, query, rng),
                *attempt_hints(history.attempts, start, history.parent),
            ),
            instruction=instruction(history.stage, parent),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        settings = self.settings
        learn(
            memory,
            observation.attempt,
            observation.result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(_STEPS[settings.steps], alpha=settings.alpha),
            unused=settings.unused,
        )

    def _start(self, memory: Memory, history: History, rng: random.Random) -> Attempt | None:
        """The attempt of highest value that passed; if none passed, the last that was refused."""
        passed = {one.id: one for one in history.attempts if one.state == State.PASSED}
        traces = memory.traces_of(passed)
        if not traces:
            answered = judged(history.attempts)
            return history.best or (answered[-1] if answered else None)
        values = memory.values([item.id for item in traces.values()], ValueRole.START)
        number = len(judged(history.attempts))
        chosen = choose_start(list(traces.values()), values, self.settings, number, rng)
        return passed[chosen.provenance.attempt or 0]


def _query(task: Task, history: History, parent: Parent | None) -> Query:
    role = ValueRole.DRAFT if history.stage is Stage.DRAFT else ValueRole.REFINE
    current = parent.decisions if parent is not None and parent.verdict.passed else {}
    refusal = _refusal(parent)
    bottleneck = bottleneck_of(parent) if role is ValueRole.REFINE else ""
    own = {attempt.id for attempt in history.attempts}
    tried = [attempt.decisions for attempt in history.attempts if attempt.decisions]

    def useful(item: Item) -> bool:
        if item.kind is ItemKind.TRACE and item.provenance.attempt in own:
            return False
        return _is_free_form(current) or (bool(item.decisions) and _is_news(item, current, tried))

    return Query(
        text=" ".join(
            (task_text(task), history.stage, decisions_text(current), bottleneck, *refusal.text)
        ),
        task=task.id,
        family=task.family,
        backend=history.backend,
        role=role,
        bottleneck=bottleneck,
        chapter=_CONTRACT if role is ValueRole.DRAFT else bottleneck,
        names=() if parent is None else identifiers(_code(parent)),
        attempts=len(judged(history.attempts)),
        stale=_attempts_since_progress(history),
        useful=useful,
        failure=refusal.fingerprint(history.backend),
    )


class _Refusal(NamedTuple):
    """The failure that the next attempt is to repair; without evidence where there is none."""

    evidence: FailureEvidence | None

    @property
    def text(self) -> tuple[str, ...]:
        return () if self.evidence is None else (self.evidence.error, self.evidence.message)

    def fingerprint(self, backend: str) -> str:
        if self.evidence is None:
            return ""
        return item_fingerprint(ItemKind.EXPERIENCE, backend, self.evidence.identity)


def _refusal(parent: Parent | None) -> _Refusal:
    if parent is None or parent.verdict.passed:
        return _Refusal(None)
    return _Refusal(failure_evidence(parent.verdict, None, None))


def _is_free_form(decisions: Decisions) -> bool:
    """Whether a kernel was written by hand or by a model: then all code may tell it something."""
    return decisions.keys() <= {APPROACH}


def _is_news(item: Item, current: Decisions, tried: list[Decisions]) -> bool:
    """Whether an item names decisions that are open here, and neither taken nor tried yet."""
    if not current:
        return True
    open_here = {name: choice for name, choice in item.decisions.items() if name in current}
    if (item.outcome or 0.0) < 0:
        return bool(open_here)
    return not was_tried(current | open_here, (current, *tried))


def _attempts_since_progress(history: History) -> int:
    best, since = 0.0, 0
    for attempt in judged(history.attempts):
        improved = (attempt.ratio or 0.0) > best
        best, since = max(best, attempt.ratio or 0.0), 0 if improved else since + 1
    return since


def _code(parent: Parent) -> str:
    return "\n".join(parent.candidate.files.values())
