"""The report of `optimize`: regions found, kernels put in, times measured."""

import textwrap

import msgspec

from kernelmill.records.verdict import Interval


class RegionRow(msgspec.Struct, frozen=True):
    """One kind of region."""

    task: str
    operators: tuple[str, ...]
    places: int
    share: float
    """Share of the model's time in PyTorch, all places together."""
    over_baseline: Interval | None
    """The judge's interval of its kernel alone; None where none has passed."""
    outcome: str
    """`replaced`, or why PyTorch stays."""

    @property
    def bound(self) -> float:
        """The whole model's gain if this region took no time at all, by Amdahl's law."""
        return 1 / max(1 - self.share, 1e-3)


class OptimizeReport(msgspec.Struct, frozen=True):
    model: str
    backend: str
    rows: tuple[RegionRow, ...]
    end_to_end: Interval | None
    """Time of the original over that of the result; None where nothing was measured."""
    original_ms: float | None
    outcome: str
    """`faster`, or why the original stays."""
    searched: int
    """Kinds of regions that kernels were searched for."""
    found: int
    """Kinds whose kernels were in the workspace before."""
    seconds: float
    a_a: Interval | None = None
    """The original against itself in the same measurement."""
    graph_alone: Interval | None = None
    """The captured graph without any kernel against the original."""

    @property
    def is_faster(self) -> bool:
        return self.outcome == FASTER

    @property
    def replaced(self) -> tuple[RegionRow, ...]:
        return tuple(row for row in self.rows if row.outcome == REPLACED)

    def __str__(self) -> str:
        return "\n".join([*map(_line, self.rows), self.conclusion()])

    def conclusion(self) -> str:
        parts = [f"{self.model} on {self.backend}: {self.outcome}"]
        if self.end_to_end is not None:
            parts.append(f"end to end: {self.end_to_end} (original {self.original_ms:.3f} ms)")
            parts.append(f"original against itself: {self.a_a}")
            parts.append(f"graph without kernels: {self.graph_alone}")
        parts.append(f"kinds of regions: {len(self.rows)}, replaced: {len(self.replaced)}")
        parts.append(
            f"kernels found in the workspace: {self.found}, searched: {self.searched} "
            f"({self.seconds:.0f} s)"
        )
        return "\n".join(map(_fold, parts))


REPLACED = "replaced"
FASTER = "faster"
_WIDTH = 80


def _line(row: RegionRow) -> str:
    names = ", ".join(dict.fromkeys(row.operators))
    alone = "" if row.over_baseline is None else f"alone {row.over_baseline}: "
    what = _fold(f"{row.share:>7.1%} in {row.places} x {names}", 9)
    return f"{what}\n{_fold(' ' * 9 + alone + row.outcome, 9)}"


def _fold(text: str, indent: int = 2) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
