"""What is shown: a pool of what is near, and out of it what is worth most."""

import random
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from kernelmill.generators.base import Hint, Why
from kernelmill.memory.index import Index, Near
from kernelmill.memory.items import FAILURE, Item, ItemKind, Role
from kernelmill.memory.store import Memory
from kernelmill.memory.values import Value, optimism, shrunk

_SOLUTIONS = 2
"""What passed for the very task before, in another campaign or on another backend: a draft that
knows of one need not begin from nothing."""
_CURES = 3
"""Practices against the start point's bottleneck that join the pool wherever they lie."""
_WARNINGS = 5
"""What refusals on the backend taught most often, which joins it too."""
_SPARE = 4
"""How many times the pool is fetched, since some of what is near is of no use."""
_MOST_API = 6
_FACT = Why("named in the code, or of the chapter for this stage")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How items are chosen."""

    shown: int = 5
    """N: how many are shown."""
    pool: float = 2.0
    """Lambda: how many times as many are near enough to be considered, ..."""
    most_pool: float = 30.0
    """... growing up to this while a task makes no progress."""
    patience: int = 3
    """Attempts without progress after which the pool doubles."""
    rank: Literal["value", "similarity"] = "value"
    share: Literal["all", "task"] = "all"
    """Whether items of other tasks are shown."""
    values: Literal["overall", "family"] = "overall"
    """Whether an item has a value of its own for each family of tasks."""
    family_prior: float = 3.0
    """Visits a family needs before its own value outweighs the overall one."""
    epsilon: float = 0.1
    """How often a place goes to chance, ..."""
    epsilon_decay: float = 0.95
    """... less with every attempt of the task."""
    optimism: float = 0.2
    """What an item that was never shown is given in advance."""


class Query(NamedTuple):
    """Who asks."""

    text: str
    task: str
    family: str
    backend: str
    role: Role
    bottleneck: str
    chapter: str
    """Of the backend's guide, which is shown whatever the code names."""
    names: Collection[str]
    """What the code at hand calls: facts about these are shown."""
    attempts: int
    """How many the task has had."""
    stale: int
    """How many of them since it last made progress."""
    useful: Callable[[Item], bool]
    """Whether an item would tell anything new."""


class _Scored(NamedTuple):
    ranked: tuple[float, float]
    near: Near | None
    """None for what joined the pool from afar."""
    item: Item
    value: Value


class Retriever:
    """Reads one memory for one strategy; keeps nothing but a copy of the vectors."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._index = Index()

    def retrieve(self, memory: Memory, query: Query, dice: random.Random) -> list[Hint]:
        """Valued items first, the most worth first; then facts, which are never valued."""
        chosen = self._choose(self._pool(memory, query), query, dice)
        facts = memory.api(query.backend, query.names, query.chapter)[:_MOST_API]
        return [*chosen, *(fact.hint(_FACT) for fact in facts)]

    def _pool(self, memory: Memory, query: Query) -> list[_Scored]:
        settings = self._settings
        self._index.refresh(memory)
        growth = 2.0 ** (query.stale // settings.patience)
        size = round(settings.shown * min(settings.most_pool, settings.pool * growth))
        (vector,) = memory.embedder.embed([query.text])
        near = {one.item: one for one in self._index.search(vector, _SPARE * size)}
        items = [item for item in memory.items(near) if self._admits(item, query)][:size]
        if settings.rank == "value":
            items += self._from_afar(memory, query, {item.id for item in items})
        return self._scored(memory, items, near, query)

    def _from_afar(self, memory: Memory, query: Query, known: set[int]) -> list[Item]:
        """What is worth considering though it is not near."""
        found = self._met_most(memory, query, ItemKind.EXPERIENCE, FAILURE, _WARNINGS)
        if query.role is Role.DRAFT:
            numbers = memory.fastest(query.task, query.backend, _SOLUTIONS)
            found += [item for item in memory.items(numbers) if self._admits(item, query)]
        if query.bottleneck:
            found += self._met_most(memory, query, ItemKind.PRACTICE, query.bottleneck, _CURES)
        return [item for item in found if item.id not in known]

    def _met_most(
        self, memory: Memory, query: Query, kind: ItemKind, category: str, most: int
    ) -> list[Item]:
        numbers = memory.in_category(kind, query.backend, category, _SPARE * most)
        return [item for item in memory.items(numbers) if self._admits(item, query)][:most]

    def _admits(self, item: Item, query: Query) -> bool:
        shared = self._settings.share == "all" or item.provenance.task == query.task
        return shared and query.useful(item)

    def _scored(
        self, memory: Memory, items: Sequence[Item], near: dict[int, Near], query: Query
    ) -> list[_Scored]:
        known = memory.values([item.id for item in items], query.role)
        scored = []
        for item in items:
            value = self._value(known, item.id, query.family)
            place = near.get(item.id)
            closeness = 0.0 if place is None else place.similarity
            if item.kind is ItemKind.TRACE and item.provenance.task == query.task:
                closeness = 1.0
            score = value.value + optimism(value.visits, self._settings.optimism)
            ranked = (score, closeness) if self._settings.rank == "value" else (closeness, score)
            scored.append(_Scored(ranked, place, item, value))
        return sorted(scored, key=lambda one: (one.ranked, -one.item.id), reverse=True)

    def _value(self, known: dict[tuple[int, str], Value], item: int, family: str) -> Value:
        overall = known.get((item, ""), Value(0.0))
        if self._settings.values == "overall":
            return overall
        own = known.get((item, family), Value(overall.value))
        return Value(shrunk(own, overall, self._settings.family_prior), overall.visits)

    def _choose(self, pool: list[_Scored], query: Query, dice: random.Random) -> list[Hint]:
        settings = self._settings
        by_value = settings.rank == "value"
        epsilon = settings.epsilon * settings.epsilon_decay**query.attempts if by_value else 0.0
        hints: list[Hint] = []
        while pool and len(hints) < settings.shown:
            explored = dice.random() < epsilon
            one = pool.pop(dice.randrange(len(pool)) if explored else 0)
            similarity = None if one.near is None else one.near.similarity
            if similarity is not None:
                reason = f"near, by {settings.rank}"
            elif one.item.category == FAILURE:
                reason = "refused often on this backend"
            elif one.item.kind is ItemKind.TRACE:
                reason = "passed for this task before"
            else:
                reason = "cured the same bottleneck"
            why = Why(reason, similarity, one.value.value, one.value.visits, explored)
            hints.append(one.item.hint(why))
        return hints


def choose_start(
    traces: Sequence[Item],
    values: dict[tuple[int, str], Value],
    settings: Settings,
    attempts: int,
    dice: random.Random,
) -> Item:
    """Which feasible attempt to refine: by its value as a start, now and then by lot."""
    if dice.random() < settings.epsilon * settings.epsilon_decay**attempts:
        return dice.choice(traces)

    def worth(item: Item) -> tuple[float, float]:
        value = values.get((item.id, ""), Value(0.0))
        return value.value + optimism(value.visits, settings.optimism), item.outcome or 0.0

    return max(traces, key=worth)
