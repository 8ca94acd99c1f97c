"""Retrieval: a pool of similar items, of which those of highest value are shown."""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from kernelmill.memory.hints import hint_of
from kernelmill.memory.index import VectorIndex
from kernelmill.memory.items import ACQUITTED, FAILURE, Item, ItemKind, ValueRole, identifiers
from kernelmill.memory.store import Memory
from kernelmill.memory.values import ValueEstimate, exploration_bonus, shrunk_value
from kernelmill.records.proposal import Hint, HintReason

_MOST_SOLUTIONS = 2
"""Traces that passed for the same task, in another campaign or on another backend, that join the
pool of a draft whatever their similarity."""
_MOST_PRACTICES = 3
"""Practices for the start point's bottleneck that join the pool whatever their similarity."""
_MOST_FAILURES = 5
"""Most frequent failures on the backend that join the pool whatever their similarity."""
_OVERSAMPLING = 4
"""Neighbours fetched per place in the pool: some of them are filtered out."""
_MOST_API = 6
_FACT = HintReason("named in the code, or of the chapter for this stage")


class RetrievalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of retrieval, given as `key=value` after the name of a strategy."""

    shown: int = 5
    """N: the number of items shown."""
    pool: float = 2.0
    """Lambda: the size of the pool, in multiples of `shown`."""
    most_pool: float = 30.0
    """The largest lambda that a task without progress reaches."""
    patience: int = 3
    """Attempts without progress after which lambda doubles."""
    rank: Literal["value", "similarity"] = "value"
    """What the pool is ranked by. Pool, epsilon and all else are the same for both."""
    share: Literal["all", "task"] = "all"
    """Whether items of other tasks are shown."""
    values: Literal["overall", "family"] = "overall"
    """Whether the value of an item is its overall one, or one per family of tasks."""
    family_prior: float = 3.0
    """Visits at which a family's value weighs as much as the overall one."""
    epsilon: float = 0.1
    """Probability that an item is drawn at random from the pool."""
    epsilon_decay: float = 0.95
    """Factor by which epsilon shrinks per attempt of the task."""
    optimism: float = 0.2
    """Exploration bonus of an item that was never shown."""


class Query(NamedTuple):
    """A request for items: the task, its state, and a filter."""

    text: str
    task: str
    family: str
    backend: str
    role: ValueRole
    bottleneck: str
    chapter: str
    """The chapter of the backend's guide whose facts are shown in any case."""
    names: Collection[str]
    """Identifiers in the current code: facts about these are shown."""
    attempts: int
    """Attempts that the task has had."""
    stale: int
    """Attempts since the task last made progress."""
    useful: Callable[[Item], bool]
    """Whether an item says anything new here."""
    failure: str = ""
    """Fingerprint of the failure that is to be repaired; empty where there is none."""


class _Pooled(NamedTuple):
    item: Item
    similarity: float
    joined: str = ""
    """Why it is in the pool whatever its similarity; empty where it is similar."""


class _Scored(NamedTuple):
    rank: tuple[float, float]
    pooled: _Pooled
    value: ValueEstimate


class _Chosen(NamedTuple):
    item: Item
    why: HintReason


class Retriever:
    """Reads one memory for one strategy. Its only state is an index of the vectors."""

    def __init__(self, settings: RetrievalSettings) -> None:
        self._settings = settings
        self._index = VectorIndex()

    def retrieve(self, memory: Memory, query: Query, rng: random.Random) -> list[Hint]:
        """Items with values, the highest first; then facts of the guide, which have none."""
        chosen = [
            hint_of(memory, item, why)
            for item, why in self._choose(self._pool(memory, query), query, rng)
        ]
        names = {*query.names, *_names_in_code(chosen)}
        facts = memory.api_facts(query.backend, names, query.chapter)[:_MOST_API]
        return [*chosen, *(fact.hint(_FACT) for fact in facts)]

    def _pool(self, memory: Memory, query: Query) -> list[_Scored]:
        settings = self._settings
        self._index.refresh(memory)
        growth = 2.0 ** (query.stale // settings.patience)
        size = round(settings.shown * min(settings.most_pool, settings.pool * growth))
        (vector,) = memory.embedder.embed([query.text])
        near = {one.item: one for one in self._index.search(vector, _OVERSAMPLING * size)}
        items = [item for item in memory.items(near) if self._admits(item, query)][:size]
        joining = {one.item.id: one for one in self._joining(memory, query)}
        pool = [
            joining.pop(item.id, _Pooled(item, 0.0))._replace(similarity=near[item.id].similarity)
            for item in items
        ]
        joined = list(joining.values())
        if joined:
            vectors = memory.embedder.embed([one.item.subject for one in joined])
            pool += [
                one._replace(similarity=float(similarity))
                for one, similarity in zip(joined, vectors @ vector, strict=True)
            ]
        return self._scored(memory, pool, query)

    def _joining(self, memory: Memory, query: Query) -> Iterator[_Pooled]:
        """Items that join the pool whatever their similarity, each once."""
        found: dict[int, _Pooled] = {}
        for reason, items in self._from_anywhere(memory, query):
            for item in items:
                if self._admits(item, query):
                    found.setdefault(item.id, _Pooled(item, 0.0, reason))
        yield from found.values()

    def _from_anywhere(self, memory: Memory, query: Query) -> Iterator[tuple[str, list[Item]]]:
        if query.failure:
            same = memory.find(query.failure)
            yield "the same error, elsewhere", [] if same is None else [same]
        if query.role is ValueRole.DRAFT:
            ids = memory.fastest_traces(query.task, query.backend, _MOST_SOLUTIONS)
            yield "passed for this task before", memory.items(ids)
        frequent = self._most_frequent(memory, query, ItemKind.EXPERIENCE, FAILURE, _MOST_FAILURES)
        yield "refused often on this backend", frequent
        if query.bottleneck:
            yield (
                "improved the same bottleneck",
                self._most_frequent(
                    memory, query, ItemKind.PRACTICE, query.bottleneck, _MOST_PRACTICES
                ),
            )

    def _most_frequent(
        self, memory: Memory, query: Query, kind: ItemKind, category: str, most: int
    ) -> list[Item]:
        ids = memory.most_frequent(kind, query.backend, category, _OVERSAMPLING * most)
        return [item for item in memory.items(ids) if self._admits(item, query)][:most]

    def _admits(self, item: Item, query: Query) -> bool:
        if item.category == ACQUITTED or item.kind is ItemKind.SKILL:
            return False  # methods are shown where the rules allow them, and nowhere else
        shared = self._settings.share == "all" or item.provenance.task == query.task
        return shared and query.useful(item)

    def _scored(self, memory: Memory, pool: Sequence[_Pooled], query: Query) -> list[_Scored]:
        known = memory.values([one.item.id for one in pool], query.role)
        scored = []
        for one in pool:
            item = one.item
            value = self._value(known, item.id, query.family)
            own = item.kind is ItemKind.TRACE and item.provenance.task == query.task
            similarity = 1.0 if own else one.similarity
            score = value.value + exploration_bonus(value.visits, self._settings.optimism)
            by_value = self._settings.rank == "value"
            rank = (score, similarity) if by_value else (similarity, score)
            scored.append(_Scored(rank, one, value))
        return sorted(scored, key=lambda one: (one.rank, -one.pooled.item.id), reverse=True)

    def _value(
        self, known: dict[tuple[int, str], ValueEstimate], item: int, family: str
    ) -> ValueEstimate:
        overall = known.get((item, ""), ValueEstimate(0.0))
        if self._settings.values == "overall":
            return overall
        own = known.get((item, family), ValueEstimate(overall.value))
        return ValueEstimate(
            shrunk_value(own, overall, self._settings.family_prior), overall.visits
        )

    def _choose(self, pool: list[_Scored], query: Query, rng: random.Random) -> list[_Chosen]:
        settings = self._settings
        epsilon = settings.epsilon * settings.epsilon_decay**query.attempts
        chosen: list[_Chosen] = []
        while pool and len(chosen) < settings.shown:
            explored = rng.random() < epsilon
            (item, similarity, joined), value = pool.pop(
                rng.randrange(len(pool)) if explored else 0
            )[1:]
            reason = joined or f"similar, by {settings.rank}"
            why = HintReason(reason, similarity, value.value, value.visits, explored)
            chosen.append(_Chosen(item, why))
        return chosen


def _names_in_code(hints: Sequence[Hint]) -> set[str]:
    """Identifiers in the code of hints: facts about these are shown."""
    codes = [hint.code for hint in hints if hint.code is not None]
    texts = [text for code in codes for text in (*code.files.values(), code.diff, code.excerpt)]
    return set(identifiers("\n".join(texts)))


def choose_start(
    traces: Sequence[Item],
    values: dict[tuple[int, str], ValueEstimate],
    settings: RetrievalSettings,
    attempts: int,
    rng: random.Random,
) -> Item:
    """The trace to refine: the one of highest value as a start, or with epsilon a random one."""
    if rng.random() < settings.epsilon * settings.epsilon_decay**attempts:
        return rng.choice(traces)

    def rank(item: Item) -> tuple[float, float]:
        value = values.get((item.id, ""), ValueEstimate(0.0))
        return value.value + exploration_bonus(value.visits, settings.optimism), item.outcome or 0.0

    return max(traces, key=rank)
