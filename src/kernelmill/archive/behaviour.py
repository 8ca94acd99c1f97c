"""Behaviour cells: what a kernel does to the hardware, in levels counted in its source."""

import bisect
import functools
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.records.candidate import Candidate
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.metrics import Metrics

LEVELS = 4
_FILE = Path(__file__).parent / "behaviour.toml"
_DEFAULT = "default"


class Cell(NamedTuple):
    """Levels from 0 to LEVELS - 1."""

    memory: int
    arithmetic: int
    parallelism: int
    launches: int

    def __str__(self) -> str:
        return "".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> "Cell":
        return cls(*map(int, text))

    def distance(self, other: "Cell") -> float:
        """From 0 to 1."""
        steps = sum(abs(one - two) for one, two in zip(self, other, strict=True))
        return steps / (len(self) * (LEVELS - 1))

    def moved(self, axis: str, step: int) -> "Cell | None":
        """The neighbour along an axis; None beyond its ends."""
        level = getattr(self, axis) + step
        return self._replace(**{axis: level}) if 0 <= level < LEVELS else None


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A level is the number of thresholds that the sum of some metrics reaches."""

    metrics: tuple[str, ...]
    thresholds: tuple[float, float, float]
    more: str
    """What a higher level means, for a prompt."""
    less: str
    per: str = ""
    """The metric that the sum is divided by; empty: none."""

    def level(self, metrics: Metrics) -> int:
        amount = sum(metrics.get(name) or 0.0 for name in self.metrics)
        amount /= max(1.0, metrics.get(self.per) or 1.0)
        return bisect.bisect_right(self.thresholds, amount)


def behaviour_cell(task: Task, candidate: Candidate, verdict: Verdict) -> Cell | None:
    """The cell of a kernel that passed; None where the verdict has no latency."""
    metrics = read_metrics(task, candidate, verdict)
    if metrics is None:
        return None
    axes = axes_of(verdict.backend)
    return Cell(*(axes[name].level(metrics) for name in Cell._fields))


def axes_of(target: str) -> dict[str, Axis]:
    axes = _axes()
    return axes.get(backend_name(target), axes[_DEFAULT])


@functools.cache
def _axes() -> dict[str, dict[str, Axis]]:
    return msgspec.toml.decode(_FILE.read_bytes(), type=dict[str, dict[str, Axis]])
