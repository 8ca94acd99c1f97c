"""The `tree` strategy, after K-Search: intents with predicted gain, apart from implementations."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from kernelmill.archive.intents import (
    MOST_TRIES,
    IntentForecast,
    IntentLog,
    IntentTry,
    tries_in_vain,
)
from kernelmill.memory import Memory
from kernelmill.memory.learning import learn
from kernelmill.memory.retrieval import RetrievalSettings, Retriever
from kernelmill.memory.values import constant_step
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.decisions import APPROACH, Decisions, was_tried
from kernelmill.records.guidance import Guidance
from kernelmill.records.proposal import Hint, Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.task import Task
from kernelmill.skills.library import load_library
from kernelmill.strategies.attempt_hints import attempt_hints, judged
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.item_query import item_query
from kernelmill.strategies.method_hints import allowed_methods, remember_methods
from kernelmill.strategies.settings import parse_settings
from kernelmill.strategies.templates import render_instruction

OWN_IDEA = "own idea"
"""The intent to let the generator find a change by itself. It is never dropped."""


class TreeSettings(RetrievalSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    bases: int = 2
    """Fastest kernels whose intents compete."""
    tries: int = MOST_TRIES
    """Tries without a gain after which an intent is dropped."""
    prior: float = 0.1
    """Logarithm of the speed-up that an intent is expected to bring before it was ever tried."""
    bonus: float = 0.1
    """Exploration bonus of an intent that was never tried."""
    start: Literal["workspace", "campaign"] = "workspace"
    """Whether a task that another campaign solved begins with refining what that one found."""
    alpha: float = 0.1
    """Step size: the share of the way that an item's value moves towards a reward."""


class _Node(NamedTuple):
    """An intent on a base."""

    base: Attempt
    intent: str
    forecast: IntentForecast
    worth: float
    """Level that it is expected to reach."""
    guidance: Guidance | None
    in_vain: int


class IntentTree(Strategy):
    name = "tree"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `key=value` pairs joined by commas, such as `bases=3,tries=4`."""
        self.settings = parse_settings(settings, TreeSettings, f"strategy {self.name}")
        self._retriever = Retriever(self.settings)
        self._library = load_library()

    def propose(self, task: Task, history: History) -> Proposal:
        rng = random.Random(history.seed)
        bases = self._bases(history)
        if not bases:
            return self._draft(task, history, rng)
        tries = self._tries(history)
        nodes = list(self._nodes(task, history, bases, tries))
        node = max(nodes, key=lambda one: (one.worth, -one.base.id, one.intent))
        refused = _last_refused(history, tries, node)
        parent = history.parent(refused or node.base)
        return history.proposal(
            task,
            stage=Stage.REFINE if parent.verdict.passed else Stage.DRAFT,
            parent=parent,
            context=self._context(task, history, parent, refused or node.base, rng),
            instruction=_instruction(node, refused),
            guidance=None if refused is not None else node.guidance,
            step=SearchStep(
                self.name,
                "repair" if refused is not None else "intent",
                partner=node.base.id,
                intent=node.intent,
                predicted=node.forecast.gain,
                difficulty=node.forecast.difficulty,
            ),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        attempt, result = observation.attempt, observation.result
        learn(
            memory,
            attempt,
            result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(constant_step, alpha=self.settings.alpha),
        )
        remember_methods(self._library, memory, result, attempt.id)
        self._write_back(observation, memory)

    def _write_back(self, observation: Observation, memory: Memory) -> None:
        """Store what came of a prediction."""
        attempt, proposal = observation.attempt, observation.result.proposal
        step, verdict = proposal.step, observation.result.deciding
        if step is None or step.predicted is None or verdict is None or verdict.is_lost:
            return
        base = IntentLog(memory.database).speed(step.partner or 0)
        gain = math.log(attempt.ratio / base) if attempt.ratio and base else None
        made = IntentTry(
            attempt.id, step.intent, step.partner or 0, step.predicted, step.difficulty or 0.0, gain
        )
        IntentLog(memory.database).add(
            made, attempt.campaign, attempt.task, proposal.backend, proposal.task.family
        )

    def _bases(self, history: History) -> list[Attempt]:
        """The fastest kernels of the task; those of other campaigns while there are none."""
        earlier = history.earlier if self.settings.start == "workspace" else ()
        for attempts in (history.attempts, earlier):
            passed = [one for one in attempts if one.state == State.PASSED and one.ratio]
            if passed:
                ranked = sorted(passed, key=lambda one: (-(one.ratio or 0.0), one.id))
                return ranked[: max(1, self.settings.bases)]
        return []

    def _tries(self, history: History) -> list[IntentTry]:
        latest = history.recent(1)
        if not latest:
            return []
        log = IntentLog(history.memory.database)
        return log.tries(latest[0].campaign, latest[0].task)

    def _nodes(
        self, task: Task, history: History, bases: Sequence[Attempt], tries: Sequence[IntentTry]
    ) -> Iterator[_Node]:
        """The open intents of all bases. The generator's own idea is always among them."""
        log = IntentLog(history.memory.database)
        tried = [one.decisions for one in history.attempts]
        for base in bases:
            found = allowed_methods(self._library, task, history, base, history.attempts)
            for intent, guidance in {OWN_IDEA: None, **_open_methods(found, base, tried)}.items():
                in_vain = tries_in_vain(tries, intent, base.id)
                if intent != OWN_IDEA and in_vain >= self.settings.tries:
                    continue
                family = task.family
                forecast = log.forecast(intent, self.settings.prior, history.backend, family)
                worth = self._worth(base, forecast, in_vain)
                yield _Node(base, intent, forecast, worth, guidance, in_vain)

    def _worth(self, base: Attempt, forecast: IntentForecast, in_vain: int) -> float:
        """Expected level, with a bonus for what is little known and less after tries in vain."""
        expected = forecast.gain * (1.0 - forecast.difficulty) / (1 + in_vain)
        bonus = self.settings.bonus / math.sqrt(1.0 + forecast.tries)
        return math.log(base.ratio or 1.0) + expected + bonus

    def _draft(self, task: Task, history: History, rng: random.Random) -> Proposal:
        answered = judged(history.attempts)
        start = answered[-1] if answered else None
        parent = None if start is None else history.parent(start)
        return history.proposal(
            task,
            stage=Stage.DRAFT,
            parent=parent,
            context=self._context(task, history, parent, start, rng),
            instruction=instruction(Stage.DRAFT, parent),
            step=SearchStep(self.name, "draft"),
        )

    def _context(
        self,
        task: Task,
        history: History,
        parent: Parent | None,
        start: Attempt | None,
        rng: random.Random,
    ) -> list[Hint]:
        passed = parent is not None and parent.verdict.passed
        query = item_query(task, history, parent, Stage.REFINE if passed else Stage.DRAFT)
        return [
            *self._retriever.retrieve(history.memory, query, rng),
            *attempt_hints(history.attempts, start, history.parent),
        ]


def _open_methods(
    found: Guidance | None, base: Attempt, tried: Sequence[Decisions]
) -> dict[str, Guidance]:
    """Guidance for each allowed method alone; of decisions, only those that are new here."""
    if found is None or not found.evidence:
        return {}
    current = {name: one for name, one in base.decisions.items() if name != APPROACH}
    methods = {}
    for method in found.methods:
        asked = {name: one for name, one in method.decisions.items() if name in current}
        if not current or (asked and not was_tried(current | asked, (current, *tried))):
            methods[method.name] = msgspec.structs.replace(found, methods=(method,))
    return methods


def _last_refused(history: History, tries: Sequence[IntentTry], node: _Node) -> Attempt | None:
    """The last try of an intent, where it was refused and was no repair: its code is repaired."""
    own = [one for one in tries if (one.intent, one.base) == (node.intent, node.base.id)]
    if not own or own[-1].gain is not None:
        return None
    attempt = history.attempt(own[-1].attempt)
    by_decisions = attempt is not None and bool(attempt.decisions.keys() - {APPROACH})
    repaired = attempt is not None and attempt.parent != node.base.id
    return None if by_decisions or repaired else attempt


def _instruction(node: _Node, refused: Attempt | None) -> str:
    return render_instruction(
        "tree",
        repair=refused is not None,
        own=node.intent == OWN_IDEA,
        intent=node.intent,
        gain=math.exp(node.forecast.gain),
        tries=node.in_vain,
    )
