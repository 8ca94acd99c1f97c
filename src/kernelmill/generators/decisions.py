"""How a kernel is made, in the words the composer, the skills and the memory share."""

from collections.abc import Iterable

Choice = bool | int | str
Decisions = dict[str, Choice]


def was_tried(decisions: Decisions, tried: Iterable[Decisions]) -> bool:
    """Whether one of those that were tried says all of this."""
    return any(
        all(before.get(name) == choice for name, choice in decisions.items()) for before in tried
    )
