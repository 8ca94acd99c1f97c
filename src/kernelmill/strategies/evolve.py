"""The `evolve` strategy, after Kernel-Smith and KernelFoundry: an archive of islands and cells."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from kernelmill.archive import Archive, Elite, Offspring, Outcome
from kernelmill.archive.operators import Operator, choose_operator
from kernelmill.archive.selection import (
    MOST_MEASUREMENTS,
    choose_parent,
    diverse,
    entry_bar,
    exploration,
    migrants,
    shown,
    to_remeasure,
    top,
)
from kernelmill.archive.targets import Target, choose_target
from kernelmill.memory import Memory
from kernelmill.memory.learning import learn
from kernelmill.memory.retrieval import RetrievalSettings, Retriever
from kernelmill.memory.values import constant_step
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.decisions import APPROACH, Decisions
from kernelmill.records.guidance import Guidance
from kernelmill.records.proposal import Hint, Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.task import Task
from kernelmill.skills.library import load_library
from kernelmill.strategies.attempt_hints import attempt_hints
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.elite_hints import Inspiration, elite_hints
from kernelmill.strategies.item_query import item_query
from kernelmill.strategies.method_hints import allowed_methods, remember_methods
from kernelmill.strategies.settings import parse_settings
from kernelmill.strategies.templates import render_instruction

_RECENT = 48
"""Latest attempts of the task that a proposal looks at."""
_ELSEWHERE = 128
"""Latest offspring of other tasks that the choice of an operator looks at."""
_MOST_REPAIRS = 2


class EvolveSettings(RetrievalSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of the strategy, given as `key=value` after its name."""

    islands: int = 2
    """Populations that evolve apart from each other."""
    migrate: int = 10
    """Attempts between two migrations; 0: none."""
    top: int = 2
    """Fastest elites that are shown."""
    diverse: int = 2
    """Elites that are shown for being unlike those."""
    remeasure: int = 2
    """Elites that are measured again with an attempt, at most."""
    measurements: int = MOST_MEASUREMENTS
    """Measurements of one kernel, at most."""
    models: Literal["shared", "own"] = "shared"
    """Whether all islands choose among all models, or each has a model of its own, in turn."""
    start: Literal["workspace", "campaign"] = "workspace"
    """Whether a task that another campaign solved begins with refining what that one found."""
    alpha: float = 0.1
    """Step size: the share of the way that an item's value moves towards a reward."""


class _Move(NamedTuple):
    """What a proposal does: an operator on a parent."""

    operator: Operator
    island: int
    parent: Attempt | None = None
    partner: Elite | None = None
    target: Target | None = None
    guidance: Guidance | None = None
    decisions: Decisions = {}


class _View(NamedTuple):
    """The archive of a task, as a proposal sees it."""

    elites: Sequence[Elite]
    contenders: Sequence[Elite]
    offspring: Sequence[Offspring]
    """The latest of the task, the last one first."""
    elsewhere: Sequence[Offspring]

    def on(self, island: int) -> list[Elite]:
        return [one for one in self.elites if one.island == island]


class Evolve(Strategy):
    name = "evolve"

    def __init__(self, settings: str = "") -> None:
        """`settings`: `key=value` pairs joined by commas, such as `islands=3,migrate=20`."""
        self.settings = parse_settings(settings, EvolveSettings, f"strategy {self.name}")
        self._retriever = Retriever(self.settings)
        self._library = load_library()

    def propose(self, task: Task, history: History) -> Proposal:
        rng = random.Random(history.seed)
        recent, view = history.recent(_RECENT), self._view(history)
        move = self._move(task, history, view, rng)
        parent = None if move.parent is None else history.parent(move.parent)
        passed = parent is not None and parent.verdict.passed
        stage = Stage.REFINE if passed else Stage.DRAFT
        return history.proposal(
            task,
            stage=stage,
            parent=parent,
            context=self._context(task, history, recent, view, move, parent, rng),
            instruction=_instruction(move),
            guidance=move.guidance,
            decisions=move.decisions,
            confirm_above=entry_bar(view.on(move.island)),
            remeasure=self._remeasure(history, view),
            step=SearchStep(
                self.name,
                move.operator,
                move.island,
                "" if move.target is None else str(move.target.cell),
                None if move.partner is None else move.partner.attempt,
            ),
            writer=move.island if self.settings.models == "own" else None,
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        learn(
            memory,
            observation.attempt,
            observation.result,
            generator=observation.generator,
            best_before=observation.best_before,
            step=partial(constant_step, alpha=self.settings.alpha),
        )
        remember_methods(self._library, memory, observation.result, observation.attempt.id)
        self.archive(observation, memory)

    def archive(self, observation: Observation, memory: Memory) -> None:
        """Take an attempt into the archive of its task, and let elites migrate."""
        attempt, result = observation.attempt, observation.result
        archive = Archive(memory.database, attempt.campaign, attempt.task)
        archive.observe(observation, self.settings.islands)
        if not self._migrates(attempt.number):
            return
        measured = {one.attempt for one in result.remeasured}
        counted = {one.attempt for one in result.proposal.remeasure if _is_counted(one)}
        for elite in migrants(archive.elites()):
            if elite.attempt in measured | counted:
                island = (elite.island + 1) % self.settings.islands
                archive.migrate(elite, island, attempt.number)

    def _view(self, history: History) -> _View:
        latest = history.recent(1)
        if not latest:
            return _View((), (), (), ())
        archive = Archive(history.memory.database, latest[0].campaign, latest[0].task)
        return _View(
            archive.elites(),
            archive.contenders(),
            archive.recent(_RECENT),
            archive.recent_elsewhere(_ELSEWHERE),
        )

    def _move(self, task: Task, history: History, view: _View, rng: random.Random) -> _Move:
        island = self._next_island(view)
        here = shown(view.on(island))
        own = [one for one in view.offspring if one.island == island]
        refused = self._to_repair(history, own)
        if not here:
            return self._first_move(history, island, refused)
        exploring = rng.random() < exploration(own)
        elite = choose_parent(here, rng, exploring)
        parent = history.attempt(elite.attempt)
        if parent is None:
            return _Move(Operator.DRAFT, island)
        target = choose_target(elite, view.elites, view.offspring, history.backend)
        partner = self._partner(view, elite, target, rng)
        methods = allowed_methods(self._library, task, history, parent, history.recent(_RECENT))
        possible = {Operator.EDIT, Operator.REWRITE}
        possible |= set() if partner is None else {Operator.CROSSOVER}
        possible |= set() if methods is None else {Operator.METHOD}
        possible |= set() if refused is None else {Operator.REPAIR}
        match choose_operator(possible, view.offspring, view.elsewhere, rng):
            case Operator.REPAIR:
                return _Move(Operator.REPAIR, island, refused)
            case Operator.REWRITE:
                return _Move(Operator.REWRITE, island, target=target)
            case Operator.METHOD:
                return _Move(Operator.METHOD, island, parent, guidance=methods)
            case Operator.CROSSOVER if partner is not None:
                decisions = _crossed(parent, history.attempt(partner.attempt), rng)
                return _Move(Operator.CROSSOVER, island, parent, partner, decisions=decisions)
            case _:
                return _Move(Operator.EDIT, island, parent, target=target)

    def _next_island(self, view: _View) -> int:
        """The island with the fewest children of late, whoever proposed them."""
        children = [0] * self.settings.islands
        for one in view.offspring:
            children[one.island % len(children)] += 1
        return children.index(min(children))

    def _first_move(self, history: History, island: int, refused: Attempt | None) -> _Move:
        """An island without elites begins with what other campaigns found, or with a draft."""
        if refused is not None:
            return _Move(Operator.REPAIR, island, refused)
        earlier = history.earlier if self.settings.start == "workspace" else ()
        solved = [one for one in earlier if one.state == State.PASSED]
        if solved:
            return _Move(Operator.EDIT, island, solved[island % len(solved)])
        return _Move(Operator.DRAFT, island)

    def _to_repair(self, history: History, own: Sequence[Offspring]) -> Attempt | None:
        """The last attempt of an island, where it failed and was not repaired in vain before."""
        if not own or own[0].outcome is not Outcome.FAILED:
            return None
        line = own[: _MOST_REPAIRS + 1]
        repairs = [one for one in line if one.operator == Operator.REPAIR]
        failed = all(one.outcome is Outcome.FAILED for one in line)
        if failed and len(repairs) >= _MOST_REPAIRS:
            return None
        return history.attempt(own[0].attempt)

    def _partner(
        self, view: _View, elite: Elite, target: Target | None, rng: random.Random
    ) -> Elite | None:
        """The owner of the target cell on any island; else one of the fastest, or of the rest."""
        others = [one for one in shown(view.elites) if one.attempt != elite.attempt]
        if not others:
            return None
        aimed = [one for one in others if target is not None and one.cell == target.cell]
        return rng.choice(aimed or [*top(others, 2), *diverse(others, [elite], 1)])

    def _context(
        self,
        task: Task,
        history: History,
        recent: Sequence[Attempt],
        view: _View,
        move: _Move,
        parent: Parent | None,
        rng: random.Random,
    ) -> list[Hint]:
        passed = parent is not None and parent.verdict.passed
        stage = Stage.REFINE if passed else Stage.DRAFT
        query = item_query(task, history, parent, stage, recent)
        inspirations = self._inspirations(view, move)
        elites = elite_hints(task, history, inspirations, move.parent)
        told = {one.elite.attempt for one in inspirations}
        others = [one for one in recent if one.id not in told]
        return [
            *self._retriever.retrieve(history.memory, query, rng),
            *elites,
            *attempt_hints(others, move.parent, history.parent, _RECENT),
        ]

    def _inspirations(self, view: _View, move: _Move) -> list[Inspiration]:
        """The partner, the fastest elites, and those most unlike them."""
        elites = shown(view.elites)
        partner = [] if move.partner is None else [move.partner]
        fastest = top(elites, self.settings.top)
        unlike = diverse(elites, [*partner, *fastest], self.settings.diverse)
        return [
            *(Inspiration(one, "the partner") for one in partner),
            *(Inspiration(one, "one of the fastest") for one in fastest),
            *(Inspiration(one, "unlike the others") for one in unlike),
        ]

    def _remeasure(self, history: History, view: _View) -> list[Parent]:
        """Before elites migrate, the migrants; else the kernels whose rank is not sure."""
        chosen = (
            migrants(view.elites)
            if self._migrates(history.number)
            else to_remeasure(
                view.contenders,
                view.elites,
                self.settings.remeasure,
                self.settings.measurements,
            )
        )
        attempts = {one.attempt: history.attempt(one.attempt) for one in chosen}
        return [history.parent(one) for one in attempts.values() if one is not None]

    def _migrates(self, number: int) -> bool:
        period = self.settings.migrate
        return self.settings.islands > 1 and period > 0 and number % period == 0


def _crossed(parent: Attempt, partner: Attempt | None, rng: random.Random) -> Decisions:
    """Some of the decisions in which the partner differs, at least one."""
    if partner is None:
        return {}
    differing = {
        name: choice
        for name, choice in sorted(partner.decisions.items())
        if name != APPROACH and parent.decisions.get(name) != choice
    }
    if not differing:
        return {}
    drawn = {name: choice for name, choice in differing.items() if rng.random() < 0.5}
    return drawn or dict([rng.choice(list(differing.items()))])


def _instruction(move: _Move) -> str:
    return render_instruction(
        "evolve",
        operator=str(move.operator),
        partner="" if move.partner is None else f"attempt {move.partner.attempt}",
        target="" if move.target is None else move.target.text,
    )


def _is_counted(parent: Parent) -> bool:
    return parent.verdict.latency is not None and parent.verdict.latency.counted
