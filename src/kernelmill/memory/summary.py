"""Summary of a memory: counts per kind, and the items of highest value."""

from typing import NamedTuple

from kernelmill.memory.items import Item, ItemKind, ValueRole
from kernelmill.memory.store import Memory
from kernelmill.memory.values import ValueEstimate


class KindCount(NamedTuple):
    items: int
    occurrences: int
    """A merged item counts each time it occurred."""
    visits: int


class MemorySummary(NamedTuple):
    embedder: str
    kinds: dict[ItemKind, KindCount]


class ValuedItem(NamedTuple):
    item: Item
    value: ValueEstimate


def summarise_memory(memory: Memory) -> MemorySummary:
    visits: dict[int, int] = {}
    for one in memory.all_values():
        if not one.family:
            visits[one.item] = visits.get(one.item, 0) + one.value.visits
    kinds = {kind: KindCount(0, 0, 0) for kind in ItemKind}
    for item in memory.all_items():
        count = kinds[item.kind]
        kinds[item.kind] = KindCount(
            count.items + 1,
            count.occurrences + item.count,
            count.visits + visits.get(item.id, 0),
        )
    return MemorySummary(memory.embedder.name, kinds)


def best_items(memory: Memory, role: ValueRole, most: int) -> list[ValuedItem]:
    """Items of highest value in a role, among those that were shown."""
    shown = [
        one
        for one in memory.all_values()
        if one.role is role and not one.family and one.value.visits
    ]
    shown.sort(key=lambda one: (-one.value.value, -one.value.visits))
    values = {one.item: one.value for one in shown[:most]}
    return [ValuedItem(item, values[item.id]) for item in memory.items(values)]
