"""Plans: one choice for every decision about how a kernel is made, apart from what it computes.

Every target has a catalogue of decisions, in the same words where they mean the same. A choice may
be wrong for a task: then the kernel does not compile, crashes, is inexact or slow, and the verdict
says so.
"""

from collections.abc import Mapping
from typing import Any

from kernelmill.records.decisions import Catalogue, Choice, Decisions, is_choice, same_choice
from kernelmill.records.numerics import Numerics


class Plan:
    """One choice for every decision, by name; notes which of them made a difference."""

    def __init__(
        self,
        decisions: Mapping[str, Choice],
        catalogue: Catalogue,
        numerics: Numerics = Numerics.IEEE,
    ) -> None:
        """`numerics` are those that the kernel may make use of."""
        self.numerics = numerics
        self._catalogue = catalogue
        self._choices = defaults(catalogue) | {
            name: choice for name, choice in decisions.items() if is_choice(name, choice, catalogue)
        }
        self.consulted: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name not in self._catalogue:
            raise AttributeError(name)
        self.consulted.add(name)
        return self._choices[name]

    def shrunk(self, size: int, least: int = 1) -> int:
        """A size of a tile under the decision `shrink`, which few backends have to take."""
        if "shrink" not in self._catalogue:
            return size
        return max(min(size, least), size // int(self.shrink))

    def of_rows(self, count: int) -> int:
        """Rows of a block under the decision `least_rows`, which few backends have to take."""
        return max(count, int(self.least_rows)) if "least_rows" in self._catalogue else count

    def takes(self, name: str, choice: Choice) -> bool:
        """Whether this is its choice, in a decision that not every backend has to take."""
        return name in self._catalogue and same_choice(getattr(self, name), choice)


def defaults(catalogue: Catalogue) -> Decisions:
    return {name: decision.choices[0] for name, decision in catalogue.items()}
