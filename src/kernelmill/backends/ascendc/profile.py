"""What CANN's profiler says of an operator: how long it ran, and which pipe held it up."""

import csv
import io
from collections.abc import Iterable

import msgspec

_PIPES = {
    "aic_mac_ratio": "cube",
    "aic_mte1_ratio": "L1 to L0 (MTE1)",
    "aic_mte2_ratio": "global memory to L1 (MTE2, cube cores)",
    "aic_fixpipe_ratio": "L0C to memory (fixpipe)",
    "aic_scalar_ratio": "scalar, cube cores",
    "aiv_vec_ratio": "vector",
    "aiv_mte2_ratio": "global memory to UB (MTE2)",
    "aiv_mte3_ratio": "UB to global memory (MTE3)",
    "aiv_scalar_ratio": "scalar, vector cores",
}
_DURATIONS = ("Task Duration(us)", "Duration(us)")
_TYPES = ("OP Type", "Type")
_BLOCKS = ("Block Dim", "Block Num")
_ADVICE = {
    "scalar": "scalar code sets the pace: fewer and longer instructions, addresses out of the loop",
    "MTE": "copies set the pace: larger tiles, fewer passes over the data, two buffers a queue",
    "vector": "the vector unit sets the pace: fewer instructions an element, repeats over masks",
    "cube": "the cube sets the pace: this is where it should be",
    "fixpipe": "writing results sets the pace: larger output tiles",
}
_BUSY = 0.8
_IDLE = 0.5
_CORES = 40


class ProfileError(Exception):
    """The profiler's table is not what it should be."""


class OperatorProfile(msgspec.Struct, frozen=True):
    """One operator in a profile, all its runs together."""

    operator: str
    runs: int
    microseconds: float
    """The median run."""
    blocks: int
    pipes: dict[str, float]
    """Share of the time that each pipe was busy, the busiest first; runs averaged."""

    @property
    def busiest(self) -> str:
        return next(iter(self.pipes), "")

    def text(self) -> str:
        """A few lines for a prompt."""
        shares = ", ".join(f"{pipe} {share:.0%}" for pipe, share in self.pipes.items() if share)
        lines = [f"{self.operator}: {self.microseconds:.1f} us on {self.blocks} cores; {shares}"]
        if self.pipes and self.pipes[self.busiest] < _IDLE:
            lines.append("no pipe is busy half the time: they wait for each other; use two buffers")
        elif self.pipes and self.pipes[self.busiest] >= _BUSY:
            lines += [advice for word, advice in _ADVICE.items() if word in self.busiest][:1]
        if self.blocks < _CORES:
            lines.append(f"only {self.blocks} cores work: split the data further")
        return "\n".join(lines)


def read_summary(text: str, operator: str) -> OperatorProfile:
    """One operator in a table of msprof's: op_summary or kernel_details. Raises ProfileError."""
    rows = [row for row in csv.DictReader(io.StringIO(text)) if _first(row, _TYPES) == operator]
    if not rows:
        raise ProfileError(f"the profile does not show {operator}: was it ever run?")
    durations = sorted(_number(_first(row, _DURATIONS)) for row in rows)
    shares = {
        pipe: _mean(_number(row.get(column)) for row in rows) for column, pipe in _PIPES.items()
    }
    return OperatorProfile(
        operator,
        len(rows),
        durations[len(durations) // 2],
        int(_number(_first(rows[0], _BLOCKS))),
        dict(sorted(shares.items(), key=lambda item: -item[1])),
    )


def _first(row: dict[str, str], columns: tuple[str, ...]) -> str:
    """Versions of the profiler name the same column differently."""
    for column in columns:
        if column in row:
            return row[column] or ""
    raise ProfileError(f"the profile has no column {columns[0]!r}")


def _number(cell: str | None) -> float:
    if cell is None or cell.strip() in ("", "N/A"):
        return 0.0
    try:
        return float(cell)
    except ValueError as error:
        raise ProfileError(f"{cell!r} in the profile is no number") from error


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
