"""A memory at a glance."""

from typing import NamedTuple

from kernelmill.memory.items import Item, ItemKind, Role
from kernelmill.memory.store import Memory
from kernelmill.memory.values import Value


class Count(NamedTuple):
    items: int
    met: int
    """How often items of this kind were met, merged ones counted each time."""
    visits: int


class Summary(NamedTuple):
    embedder: str
    kinds: dict[ItemKind, Count]


class Worth(NamedTuple):
    item: Item
    value: Value


def summarise(memory: Memory) -> Summary:
    visits: dict[int, int] = {}
    for one in memory.all_values():
        if not one.family:
            visits[one.item] = visits.get(one.item, 0) + one.value.visits
    kinds = {kind: Count(0, 0, 0) for kind in ItemKind}
    for item in memory.all_items():
        items, met, shown = kinds[item.kind]
        kinds[item.kind] = Count(items + 1, met + item.count, shown + visits.get(item.id, 0))
    return Summary(memory.embedder.name, kinds)


def best_items(memory: Memory, role: Role, most: int) -> list[Worth]:
    """Of those that were shown, what turned out to be worth most."""
    shown = [
        one
        for one in memory.all_values()
        if one.role is role and not one.family and one.value.visits
    ]
    shown.sort(key=lambda one: (-one.value.value, -one.value.visits))
    values = {one.item: one.value for one in shown[:most]}
    return [Worth(item, values[item.id]) for item in memory.items(values)]
