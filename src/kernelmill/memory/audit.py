"""Audit of a memory: items that are redundant, harmful or inconsistent, and their removal."""

import enum
from collections import defaultdict
from typing import NamedTuple

from kernelmill.memory.items import Item, ItemKind, ItemValue, ValueRole
from kernelmill.memory.store import Memory
from kernelmill.memory.values import REWARD_BOUND

_MIN_VISITS = 5
"""An item with fewer visits is never called dead."""
_DEAD_BELOW = -0.5


class ItemFlaw(enum.StrEnum):
    DUPLICATE = "duplicate"
    """An older item has the same text."""
    DEAD = "dead"
    """It was shown often enough, and all of its values are low."""
    UNSHOWN = "never shown"
    """It was never shown to a generator. This is reported, but never pruned."""
    OUT_OF_BOUNDS = "value out of bounds"


class AuditFinding(NamedTuple):
    flaw: ItemFlaw
    item: Item
    why: str


def audit_memory(memory: Memory) -> list[AuditFinding]:
    values: dict[int, list[ItemValue]] = defaultdict(list)
    for value in memory.all_values():
        values[value.item].append(value)
    findings: list[AuditFinding] = []
    first_of: dict[tuple[str, ...], Item] = {}
    for item in memory.all_items():
        known = first_of.setdefault(
            (item.kind, item.provenance.backend, item.full_text, *_sources(item)), item
        )
        if known is not item:
            findings.append(AuditFinding(ItemFlaw.DUPLICATE, item, f"like item {known.id}"))
        if item.kind is not ItemKind.API:
            findings += _value_findings(item, values[item.id])
    return findings


def prune_memory(memory: Memory) -> list[AuditFinding]:
    """Remove duplicate and dead items; return the findings that named them."""
    prunable = (ItemFlaw.DUPLICATE, ItemFlaw.DEAD)
    removed = [one for one in audit_memory(memory) if one.flaw in prunable]
    if removed:
        memory.remove({one.item.id for one in removed})
    return removed


def _sources(item: Item) -> tuple[str, ...]:
    """What tells items of one text apart: a practice of a model has its change alone."""
    return (item.change_from or "", item.change_to or "") if item.kind is ItemKind.PRACTICE else ()


def _value_findings(item: Item, values: list[ItemValue]) -> list[AuditFinding]:
    findings = []
    for one in values:
        if not abs(one.value.value) <= REWARD_BOUND:
            why = f"{one.role}: {one.value.value}"
            findings.append(AuditFinding(ItemFlaw.OUT_OF_BOUNDS, item, why))
    overall = [one for one in values if not one.family and one.role is not ValueRole.START]
    visits = sum(one.value.visits for one in overall)
    if visits == 0:
        findings.append(AuditFinding(ItemFlaw.UNSHOWN, item, f"made {item.made_at[:10]}"))
    elif visits >= _MIN_VISITS and all(one.value.value < _DEAD_BELOW for one in overall):
        written = ", ".join(f"{one.role} {one.value.value:+.2f}" for one in overall)
        findings.append(AuditFinding(ItemFlaw.DEAD, item, f"{written} after {visits} visits"))
    return findings
