"""The composer's decisions: how a kernel is made, apart from what it computes.

This is the catalogue for C++; another backend has its own, in the same words where they fit.

A choice may be wrong for a task: then the kernel does not compile, crashes, is inexact or slow, and
the verdict says so.
"""

from collections.abc import Mapping
from typing import Any

from kernelmill.records.decisions import (
    Catalogue,
    Choice,
    Decision,
    Decisions,
    is_choice,
    same_choice,
)
from kernelmill.records.numerics import Numerics

Column = tuple[str, Choice]
"""A decision and one of its choices."""


CATALOGUE: Catalogue = {
    "fuse": Decision(
        (True, False), "compute pointwise values where they are used instead of storing them"
    ),
    "specialise": Decision((True, False), "a second body with the shown sizes as constants"),
    "parallel": Decision(("outer", "none"), "which loops are shared among the threads"),
    "accumulate": Decision(
        ("blocked", "float", "double"), "sums in float joined in double, in float, or in double"
    ),
    "moments": Decision(
        ("two-pass", "one-pass"), "variance from differences, or from squares in one pass"
    ),
    "keep_rows": Decision(
        (True, False),
        "store a row that is needed again behind a fold instead of computing it twice",
    ),
    "vectorise": Decision((True, False), "demand vectors, or leave it to the compiler"),
    "contract": Decision(
        ("blocked", "loops"),
        "a matrix product in blocks for caches and registers, or as it is said",
    ),
    "lanes": Decision(
        (64, 16, 32, 128), "elements side by side where a fold does not run along memory"
    ),
    "tile": Decision(
        ("auto", "6x4", "8x3", "14x2", "4x4"), "register tile of a contraction: rows x vectors"
    ),
    "depth_block": Decision(
        ("auto", 128, 256, 512), "depth of a panel that stays in the first cache"
    ),
    "split": Decision(
        ("auto", "rows", "columns", "batch"), "what the threads divide in a contraction"
    ),
    "operand": Decision(
        ("auto", "packed", "direct"), "copy the right operand into panels, or read it in place"
    ),
}
SERIAL_BELOW = 1 << 14
"""Elements that are not worth waking a second thread for."""


class Plan:
    """One choice for every decision, by name; notes which of them made a difference."""

    def __init__(
        self,
        decisions: Mapping[str, Choice],
        catalogue: Catalogue = CATALOGUE,
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

    def takes(self, name: str, choice: Choice) -> bool:
        """Whether this is its choice, in a decision that not every backend has to take."""
        return name in self._catalogue and same_choice(getattr(self, name), choice)


def defaults(catalogue: Catalogue = CATALOGUE) -> Decisions:
    return {name: decision.choices[0] for name, decision in catalogue.items()}
