"""The memory: what was experienced, and what it is worth to show it again."""

from kernelmill.memory.items import Item, ItemKind, NewItem, Provenance, Role
from kernelmill.memory.store import Memory

__all__ = ["Item", "ItemKind", "Memory", "NewItem", "Provenance", "Role"]
