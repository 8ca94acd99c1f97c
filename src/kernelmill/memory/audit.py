"""What in a memory is not worth its place, and taking it out."""

import enum
from collections import defaultdict
from typing import NamedTuple

from kernelmill.memory.items import Item, ItemKind, ItemValue, Role
from kernelmill.memory.store import Memory
from kernelmill.memory.values import REWARD_BOUND

_LEAST_VISITS = 5
_DEAD_BELOW = -0.5


class Flaw(enum.StrEnum):
    DUPLICATE = "duplicate"
    """Says what an older item says, word for word."""
    DEAD = "dead"
    """Shown often enough, and it kept doing harm."""
    UNSHOWN = "never shown"
    """Nobody's context has had it yet: no flaw of its own, and never pruned."""
    OUT_OF_BOUNDS = "value out of bounds"


class Finding(NamedTuple):
    flaw: Flaw
    item: Item
    why: str


def audit(memory: Memory) -> list[Finding]:
    values: dict[int, list[ItemValue]] = defaultdict(list)
    for value in memory.all_values():
        values[value.item].append(value)
    findings: list[Finding] = []
    first_of: dict[tuple[str, str, str], Item] = {}
    for item in memory.all_items():
        known = first_of.setdefault((item.kind, item.provenance.backend, item.text), item)
        if known is not item:
            findings.append(Finding(Flaw.DUPLICATE, item, f"like item {known.id}"))
        if item.kind is not ItemKind.API:
            findings += _judged(item, values[item.id])
    return findings


def prune(memory: Memory) -> list[Finding]:
    """Remove duplicates and what is dead; says what went."""
    removed = [one for one in audit(memory) if one.flaw in (Flaw.DUPLICATE, Flaw.DEAD)]
    if removed:
        memory.remove({one.item.id for one in removed})
    return removed


def _judged(item: Item, values: list[ItemValue]) -> list[Finding]:
    findings = []
    for one in values:
        if not abs(one.value.value) <= REWARD_BOUND:
            findings.append(Finding(Flaw.OUT_OF_BOUNDS, item, f"{one.role}: {one.value.value}"))
    overall = [one for one in values if not one.family and one.role is not Role.START]
    visits = sum(one.value.visits for one in overall)
    if visits == 0:
        findings.append(Finding(Flaw.UNSHOWN, item, f"made {item.made_at[:10]}"))
    elif visits >= _LEAST_VISITS and all(one.value.value < _DEAD_BELOW for one in overall):
        worth = ", ".join(f"{one.role} {one.value.value:+.2f}" for one in overall)
        findings.append(Finding(Flaw.DEAD, item, f"{worth} after {visits} visits"))
    return findings
