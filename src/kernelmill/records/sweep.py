"""Sweeps: parameters of a kernel whose combinations are measured by the engine."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from kernelmill.records.decisions import Choice, Decisions

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A parameter's place in a template, such as `${ROWS}`."""


class Parameter(msgspec.Struct, frozen=True):
    name: str
    choices: tuple[Choice, ...]
    """The default first."""


class SweepSpace(msgspec.Struct, frozen=True):
    """Parameters and what they are of: a template, or else decisions of the generator."""

    parameters: tuple[Parameter, ...]
    files: dict[str, str] = {}
    """Files with placeholders; empty where the parameters are decisions."""

    @property
    def defaults(self) -> Decisions:
        return {one.name: one.choices[0] for one in self.parameters}

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(len(one.choices) for one in self.parameters)

    def combinations(self) -> Iterator[Decisions]:
        """All of them, that of the defaults first."""
        names = [one.name for one in self.parameters]
        for choices in itertools.product(*(one.choices for one in self.parameters)):
            yield dict(zip(names, choices, strict=True))

    def filled(self, choices: Mapping[str, Choice]) -> dict[str, str]:
        """The files of the template with these choices."""
        return {
            name: PLACEHOLDER.sub(lambda found: str(choices.get(found[1], found[0])), text)
            for name, text in self.files.items()
        }


class SweepSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the sweeps of a campaign, given as `key=value` pairs joined by commas."""

    combinations: Annotated[int, msgspec.Meta(ge=0)] = 8
    """Combinations of one template that are measured, at most; 0: templates are refused."""
    sampler: Literal["surrogate", "optuna"] = "surrogate"
    """Who chooses the next combination: the surrogate's expected improvement, or Optuna's TPE."""


class TrialPlan(msgspec.Struct, frozen=True):
    """A combination to be measured, and what the surrogate expects of it."""

    sweep: int
    """The attempt that the sweep belongs to."""
    choices: Decisions
    bar: float | None = None
    """Level (logarithm of the speed) of the best combination so far; None where none passed."""
    expected: float | None = None
    """Level that is expected of it."""
    deviation: float | None = None
    """Standard deviation of that."""
    chance: float | None = None
    """Probability that it beats the bar by more than MARGIN."""
    doubted: bool = False
    """Whether it was sure to lose, and is measured to check that."""
    skipped: int = 0
    """Combinations that were sure to lose when it was chosen."""
