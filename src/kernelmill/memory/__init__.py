"""The memory: items learned from attempts, and the value of showing each one again."""

from kernelmill.memory.items import Item, ItemKind, NewItem, Provenance, ValueRole
from kernelmill.memory.store import Memory

__all__ = ["Item", "ItemKind", "Memory", "NewItem", "Provenance", "ValueRole"]
