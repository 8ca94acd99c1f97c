"""The `value` strategy, after EvoKernel: items and start points are chosen by learned values."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Literal

from kernelmill.memory import Memory, ValueRole
from kernelmill.memory.learning import learn
from kernelmill.memory.retrieval import RetrievalSettings, Retriever, choose_start
from kernelmill.memory.values import constant_step, decreasing_step
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.skills.library import load_library
from kernelmill.strategies.attempt_hints import attempt_hints, judged
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.item_query import item_query
from kernelmill.strategies.method_hints import method_hints, remember_methods
from kernelmill.strategies.settings import parse_settings

_MOST_STARTS = 3
"""Attempts of other campaigns, the fastest ones, that a refinement may start from."""
_STEPS = {"constant": constant_step, "decreasing": decreasing_step}


class ValueSettings(RetrievalSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    alpha: float = 0.1
    """Step size: the share of the way that a value moves towards a reward."""
    steps: Literal["constant", "decreasing"] = "constant"
    start: Literal["workspace", "campaign"] = "workspace"
    """Whether a task that another campaign solved begins with refining what that one found."""
    methods: int = 1
    """Methods of the skill library that are shown beside the items, as the rules allow; 0: none."""
    unused: float = 0.3
    """Share of a step for items that were shown and not used; 1 credits all that was shown."""


class ValueDriven(Strategy):
    """Drafts with items that helped others to pass, refines with those that made them fast."""

    name = "value"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `key=value` pairs joined by commas, such as `rank=similarity,shown=8`."""
        self.settings = parse_settings(settings, ValueSettings, f"strategy {self.name}")
        self._retriever = Retriever(self.settings)
        self._library = load_library()

    def propose(self, task: Task, history: History) -> Proposal:
        memory = history.memory
        rng = random.Random(history.seed)
        earlier = history.earlier if self.settings.start == "workspace" else ()
        start = self._start(memory, history, earlier, rng)
        parent = None if start is None else history.parent(start)
        passed = parent is not None and parent.verdict.passed
        stage = Stage.REFINE if passed else Stage.DRAFT
        query = item_query(task, history, parent, stage)
        children = [one for one in earlier if start is not None and one.parent == start.id]
        return history.proposal(
            task,
            stage=stage,
            parent=parent,
            context=(
                *self._retriever.retrieve(memory, query, rng),
                *method_hints(self._library, task, history, parent, self.settings.methods),
                *attempt_hints([*children, *history.attempts], start, history.parent),
            ),
            instruction=instruction(stage, parent),
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
        if settings.methods:
            remember_methods(self._library, memory, observation.result, observation.attempt.id)

    def _start(
        self, memory: Memory, history: History, earlier: Sequence[Attempt], rng: random.Random
    ) -> Attempt | None:
        """The attempt of highest value that passed; if none passed, the last that was refused.

        A campaign that has not solved the task yet begins with the best of the others.
        """
        own = [one for one in history.attempts if one.state == State.PASSED]
        if not own and earlier and earlier[0].state == State.PASSED:
            return earlier[0]
        elsewhere = [one for one in earlier if one.state == State.PASSED][:_MOST_STARTS]
        passed = {one.id: one for one in (*elsewhere, *own)}
        traces = memory.traces_of(passed)
        if not traces:
            answered = judged(history.attempts)
            return history.best or (answered[-1] if answered else None)
        values = memory.values([item.id for item in traces.values()], ValueRole.START)
        number = len(judged(history.attempts))
        chosen = choose_start(list(traces.values()), values, self.settings, number, rng)
        return passed[chosen.provenance.attempt or 0]
