"""Allotment of a prompt's tokens: optional parts compete by their worth per token."""

from collections.abc import Sequence
from typing import NamedTuple

_BYTES_PER_TOKEN = 3.0
"""A low estimate for source code, so that tokens are rather over-counted."""


class PromptPart(NamedTuple):
    """A part of a prompt that may be left out."""

    name: str
    """What is missing where it is left out."""
    tokens: int
    worth: float
    needs: int | None = None
    """Index of the part without which this one says nothing."""

    @property
    def density(self) -> float:
        return self.worth / max(1, self.tokens)


def tokens_of(text: str) -> int:
    """An estimate."""
    return round(len(text.encode()) / _BYTES_PER_TOKEN)


def allot(parts: Sequence[PromptPart], tokens: int) -> list[int]:
    """Indices of the parts that fit, the most worth per token first; ties in their order."""
    chosen: dict[int, None] = {}
    left = tokens
    for index in sorted(range(len(parts)), key=lambda one: (-parts[one].density, one)):
        if index in chosen:
            continue
        group = [index]
        needs = parts[index].needs
        if needs is not None and needs not in chosen:
            group.insert(0, needs)
        cost = sum(parts[one].tokens for one in group)
        if cost <= left:
            chosen |= dict.fromkeys(group)
            left -= cost
    return list(chosen)
