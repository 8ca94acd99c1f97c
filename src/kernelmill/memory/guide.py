"""Facts of a backend's guide as the first items of a memory."""

import re
from collections.abc import Mapping

from kernelmill.memory.items import ItemKind, NewItem, Provenance, quoted_names
from kernelmill.memory.store import Memory


def seed_guide(memory: Memory, backend: str, guide: Mapping[str, str]) -> None:
    """Add every bullet point of every chapter that is not in the memory yet."""
    facts = [
        NewItem(
            ItemKind.API,
            fact,
            f"{backend} {chapter} {fact}",
            Provenance(backend=backend),
            identity=(chapter, fact),
            category=chapter,
            names=quoted_names(fact),
        )
        for chapter, text in guide.items()
        for fact in _bullet_points(text)
    ]
    known = {item.fingerprint for item in memory.of_kind(ItemKind.API, backend)}
    fresh = [fact for fact in facts if fact.fingerprint not in known]
    if fresh:
        memory.add_all(fresh)


def _bullet_points(text: str) -> list[str]:
    return [point.strip() for point in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]
