"""The composer's decisions: how a kernel is made, apart from what it computes.

Every decision has a name, its choices and a sentence about it. A choice may be wrong for a task:
then the kernel does not compile, crashes, is inexact or slow, and the verdict says so.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kernelmill.generators.base import Choice, Decisions


class Decision(NamedTuple):
    name: str
    choices: tuple[Choice, ...]
    """The usual one first."""
    concerns: str
    """Kernels it matters to: `nest`, `contraction`, or `all`."""
    about: str


CATALOGUE: tuple[Decision, ...] = (
    Decision("fuse", (True, False), "all", "compute pointwise values where they are used instead of storing them"),
    Decision("specialise", (True, False), "all", "a second body with the shown sizes as constants"),
    Decision("accumulate", ("blocked", "float", "double"), "nest", "how sums are carried: float in blocks joined in double, float, double"),
    Decision("moments", ("two-pass", "one-pass"), "nest", "variance from differences, or from squares in the same pass as the mean"),
    Decision("lanes", (64, 16, 32, 128), "nest", "elements side by side where a fold does not run along memory"),
    Decision("keep_rows", (True, False), "nest", "store a row that is used again after a fold instead of computing it twice"),
    Decision("parallel", ("outer", "none"), "all", "which loops are shared among the threads"),
    Decision("tile", ("auto", "6x4", "8x3", "14x2", "4x4"), "contraction", "register tile: rows x vectors of columns"),
    Decision("depth_block", ("auto", 128, 256, 512), "contraction", "depth of a panel that stays in the first cache"),
    Decision("split", ("auto", "rows", "columns", "batch"), "contraction", "what the threads divide among themselves"),
    Decision("operand", ("auto", "packed", "direct"), "contraction", "copy the right operand into panels, or read it in place"),
)  # fmt: skip
_BY_NAME = {decision.name: decision for decision in CATALOGUE}


class Plan(msgspec.Struct, frozen=True):
    """One choice for every decision."""

    fuse: bool = True
    specialise: bool = True
    accumulate: str = "blocked"
    moments: str = "two-pass"
    lanes: int = 64
    keep_rows: bool = True
    parallel: str = "outer"
    tile: str = "auto"
    depth_block: int | str = "auto"
    split: str = "auto"
    operand: str = "auto"

    serial_below = 1 << 14
    """Elements that are not worth waking a second thread for."""


def plan_of(decisions: Mapping[str, Choice]) -> Plan:
    known = {name: choice for name, choice in decisions.items() if _valid(name, choice)}
    return msgspec.convert(known, Plan)


def _valid(name: str, choice: Choice) -> bool:
    decision = _BY_NAME.get(name)
    return decision is not None and choice in decision.choices


def relevant(kinds: set[str]) -> tuple[Decision, ...]:
    """The decisions that matter to a program of these kinds of kernels."""
    return tuple(d for d in CATALOGUE if d.concerns == "all" or d.concerns in kinds)


def explore(start: Decisions, open_decisions: Sequence[Decision], seed: int) -> Decisions:
    """Change one or two decisions at random."""
    dice = random.Random(seed)
    changed = dict(start)
    for decision in dice.sample(
        list(open_decisions), k=min(len(open_decisions), dice.choice((1, 1, 2)))
    ):
        others = [
            c for c in decision.choices if c != changed.get(decision.name, decision.choices[0])
        ]
        changed[decision.name] = dice.choice(others)
    return changed
