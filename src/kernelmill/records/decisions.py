"""Decisions: named choices that make up a kernel, shared by composer, skills and memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Choice = bool | int | str
Decisions = dict[str, Choice]
Choices = Mapping[str, Sequence[Choice]]
"""Choices of each open decision, the default first."""

APPROACH = "approach"
"""The decision that holds a model's own description of its kernel; no catalogue has it."""


class Decision(NamedTuple):
    """Choices of one decision, and what it is about."""

    choices: tuple[Choice, ...]
    """The default first."""
    about: str


Catalogue = Mapping[str, Decision]
"""All decisions of a generator for a backend, by name."""


def is_choice(name: str, choice: Choice, catalogue: Catalogue) -> bool:
    """Whether a decision of the catalogue has this choice."""
    return name in catalogue and is_open(name, choice, {name: catalogue[name].choices})


def is_open(name: str, choice: Choice | None, choices: Choices) -> bool:
    """Whether a decision is open and has this choice."""
    return any(choice is not None and same_choice(choice, one) for one in choices.get(name, ()))


def same_choice(one: Choice, other: Choice) -> bool:
    # True == 1 in Python, but not to a compiler.
    return one == other and type(one) is type(other)


def was_tried(decisions: Decisions, tried: Iterable[Decisions]) -> bool:
    """Whether one of the tried sets of decisions includes all of these."""
    return any(
        all(before.get(name) == choice for name, choice in decisions.items()) for before in tried
    )
