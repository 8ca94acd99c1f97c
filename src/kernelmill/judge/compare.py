"""Comparison of outputs with a float64 reference, within an error budget.

The budget is derived from the rounding error of the reference itself.
"""

import math
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.records.tensors import EPSILON, HALF_TYPES, LARGEST, is_floating, widen

_CHUNK = 1 << 14
"""Elements compared at a time, few enough for their intermediate results to stay in a cache."""
DISCRETE_SLACK = 4
"""Integer outputs (argmax) may differ where rounding decides: this many times as often as eager's
own outputs do."""
_SAMPLE_SLACK = 1.5
"""Factor on the error norm where a sample of the elements is compared."""
_SAMPLE_MISMATCHES = 2
"""Mismatches of discrete outputs that a sample may have beyond its share, where any are allowed."""


_PLAIN_SUM_DEVIATION = 0.125
"""Standard deviation of the relative error of a plain sum of n terms, in units of epsilon times
the square root of n: every addition rounds a partial sum by up to half a unit."""
_LONGEST_PLAIN_SUM = 4096
"""Longer sums need more than one accumulator. Split bfloat16 products have an error of 37 epsilon,
and must not fit in the budget of any plain sum."""
_CAP_DEVIATIONS = 5
_ROUNDINGS = 4
"""Roundings of the inputs whose effect on an output is accepted."""
_HALF_TOLERANCE = 2.0
"""Error budget of half types, as a multiple of the reference's own error: that is the rounding of
the result, for kernels compute in float32 as PyTorch's do."""
_UNUSUAL_ROW = 4
"""Sums of one row may be this many times as large as those of most."""


ROUNDED_TOLERANCE = 4.0
"""Error budget where the reference itself rounds operands, as a multiple of its own error. To
truncate instead of rounding doubles the error, and bfloat16 has eight times that of TF32."""


class ErrorBudget(msgspec.Struct, frozen=True):
    """The largest accepted distance of an output from the float64 reference."""

    norm: float
    """Largest root-mean-square error."""
    absolute: float
    relative: float
    """The largest error of one element is absolute + relative * |reference|."""
    mismatches: int
    """Number of elements that may differ, for discrete outputs."""

    def or_more(self, other: "ErrorBudget") -> "ErrorBudget":
        """What either of two budgets accepts."""
        return ErrorBudget(
            max(self.norm, other.norm),
            max(self.absolute, other.absolute),
            max(self.relative, other.relative),
            max(self.mismatches, other.mismatches),
        )

    def of_sample(self, size: int, total: int) -> "ErrorBudget":
        """The budget of a random sample of the elements.

        One of them may be at its cap, which weighs more in a sample than in the whole.
        """
        norm = float(np.hypot(_SAMPLE_SLACK * self.norm, self.absolute / np.sqrt(max(1, size))))
        share = _SAMPLE_SLACK * self.mismatches * size / max(1, total)
        mismatches = _SAMPLE_MISMATCHES + int(share) if self.mismatches else 0
        return ErrorBudget(norm, self.absolute, self.relative, mismatches)


class Comparison(msgspec.Struct, frozen=True):
    """The result of comparing one output with its reference."""

    error: float
    """Share of the error budget used; an output with more than 1 is wrong."""
    wrong: int
    """Number of wrong elements."""
    worst_absolute: float
    worst_relative: float
    box: str
    """The bounding box of the wrong elements, as index ranges."""


class ExpectedOutput(NamedTuple):
    """The reference values of one output of one case."""

    dtype: str
    eager: npt.NDArray[Any]
    """The reference in the precision of the task."""
    exact: npt.NDArray[Any]
    """The reference in float64."""
    budget: ErrorBudget

    def at(self, positions: npt.NDArray[np.int64]) -> "ExpectedOutput":
        """A sample of it, given by row-major positions."""
        return ExpectedOutput(
            self.dtype,
            self.eager.reshape(-1)[positions],
            self.exact.reshape(-1)[positions],
            self.budget.of_sample(positions.size, self.eager.size),
        )


class Conditioning(msgspec.Struct, frozen=True):
    """How far an output moves when inputs and parameters move by one unit in the last place."""

    rms: float = 0.0
    high: float = 0.0
    """The movement that few elements exceed."""
    equal_terms: bool = False
    """Whether many terms of a sum may be equal: their roundings all go in the same direction."""

    def scaled(self, factor: float) -> "Conditioning":
        return Conditioning(self.rms * factor, self.high * factor, self.equal_terms)


WELL_CONDITIONED = Conditioning()


class OwnError(NamedTuple):
    """The distance of eager's output from the float64 reference."""

    rms: float
    worst: float
    scale: float
    """Root mean square of the reference."""
    elements: int


def derive_budget(
    dtype: str,
    own: OwnError,
    tolerance: float,
    longest: int = 1,
    conditioning: Conditioning = WELL_CONDITIONED,
) -> ErrorBudget:
    """Derive the budget from eager's own error, but at least a few units in the last place.

    A plain sum of `longest` numbers fits in it as well: eager may add in blocks or in double, which
    no kernel has to. So does what a few roundings of the inputs would do to the output, or as many
    as such a sum has. Between inputs and outputs of half types, these are sums and roundings in
    float32.
    """
    epsilon = EPSILON[dtype]
    inner = epsilon
    if dtype in HALF_TYPES:
        tolerance, inner = min(tolerance, _HALF_TOLERANCE), EPSILON["float32"]
        conditioning = conditioning.scaled(inner / epsilon)
    floor = 0.5 * epsilon * own.scale
    terms = min(longest, _LONGEST_PLAIN_SUM)
    sums = max(1, own.elements // terms)
    likely = 1.5 + 2.5 / math.sqrt(sums)  # a mean of few is less certain
    deviations = _PLAIN_SUM_DEVIATION * math.sqrt(terms)
    roundings = max(_ROUNDINGS, likely * deviations)
    if conditioning.equal_terms:
        deviations *= math.sqrt(terms)
    cap = _CAP_DEVIATIONS * deviations * inner
    return ErrorBudget(
        norm=max(
            tolerance * max(own.rms, floor),
            likely * deviations * inner * own.scale,
            roundings * conditioning.rms,
        ),
        absolute=max(
            2 * tolerance * max(own.worst, floor),
            cap * _UNUSUAL_ROW * own.scale,
            2 * roundings * conditioning.high,
        ),
        relative=max(2 * tolerance * epsilon, cap),
        mismatches=0,
    )


def discrete_budget(differing: int) -> ErrorBudget:
    """The budget of integers, of which so many differ between eager and float64."""
    return ErrorBudget(0.0, 0.0, 0.0, DISCRETE_SLACK * differing)


def make_budget(
    dtype: str,
    eager: npt.NDArray[Any],
    exact: npt.NDArray[Any],
    tolerance: float,
    longest: int = 1,
    conditioning: Conditioning = WELL_CONDITIONED,
) -> ErrorBudget:
    """The budget of an output in host memory."""
    if not is_floating(dtype):
        return discrete_budget(int(np.count_nonzero(eager != exact)))
    own = widen(eager, dtype)
    finite = np.isfinite(own) & np.isfinite(exact)
    error = np.abs(np.where(finite, own, 0) - np.where(finite, exact, 0))
    statistics = OwnError(
        _rms(error), float(error.max(initial=0.0)), _rms(np.where(finite, exact, 0)), eager.size
    )
    return derive_budget(dtype, statistics, tolerance, longest, conditioning)


def _rms(values: npt.NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


@np.errstate(invalid="ignore", over="ignore", divide="ignore")
def compare(actual: npt.NDArray[Any], expected: ExpectedOutput) -> Comparison:
    """Compare one output, which has the shape and dtype of the expected one."""
    if not is_floating(expected.dtype):
        return _compare_discrete(actual, expected)
    budget = expected.budget
    flat, exact, eager = (a.reshape(-1) for a in (actual, expected.exact, expected.eager))
    squares, worst, wrong_count, worst_relative = 0.0, 0.0, 0, 0.0
    wrong_parts: list[npt.NDArray[np.int64]] = []
    buffer = np.empty(min(_CHUNK, flat.size))
    for start in range(0, flat.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        reference = exact[part]
        error = buffer[: reference.size]
        np.subtract(widen(flat[part], expected.dtype), reference, out=error)
        np.abs(error, out=error)
        total = float(np.dot(error, error))
        if not np.isfinite(total):
            error = _settle_non_finite(error, flat[part], eager[part], reference, expected.dtype)
            total = float(np.dot(error, error))
        squares += total
        worst_here = float(error.max())
        worst = max(worst, worst_here)
        if worst_here <= budget.absolute:
            continue
        size = np.abs(reference)
        over = error > budget.absolute + budget.relative * np.where(np.isfinite(size), size, 0)
        if over.any():
            indices = np.flatnonzero(over)
            wrong_count += indices.size
            wrong_parts.append(indices + start)
            relative = error[indices] / np.maximum(size[indices], np.finfo(np.float64).tiny)
            worst_relative = max(worst_relative, float(relative.max()))
    norm = float(np.sqrt(squares / max(1, flat.size)))
    share = norm / budget.norm if budget.norm > 0 else (0.0 if norm == 0 else np.inf)
    if wrong_count:
        share = max(share, worst / budget.absolute if budget.absolute else np.inf, 1.001)
    box = _bounding_box(wrong_parts, actual.shape)
    return Comparison(float(share), wrong_count, worst, worst_relative, box)


def _settle_non_finite(
    error: npt.NDArray[np.float64],
    actual: npt.NDArray[Any],
    eager: npt.NDArray[Any],
    exact: npt.NDArray[np.float64],
    dtype: str,
) -> npt.NDArray[np.float64]:
    """Errors with 0 where the output has the reference's own NaN or infinity, in either precision.

    Any other value there, and any other value that is not finite, is infinitely wrong. Where the
    reference is finite in one precision only, the order of a sum decides: there it may be close to
    the finite value, or not finite.
    """
    ours, theirs = widen(actual, dtype), widen(eager, dtype)
    rounded = np.where(np.abs(exact) > LARGEST[dtype], np.copysign(np.inf, exact), exact)
    same = (ours == theirs) | (ours == rounded)
    same |= np.isnan(ours) & (np.isnan(theirs) | np.isnan(rounded))
    special = ~np.isfinite(theirs)
    error = np.where(special, np.where(same, 0.0, np.inf), error)
    disputed = special != ~np.isfinite(rounded)
    nearest = np.fmin(np.abs(ours - exact), np.abs(ours - theirs))
    error = np.where(disputed, np.where(np.isfinite(ours), nearest, 0.0), error)
    return np.where(np.isnan(error), np.inf, error)


def _compare_discrete(actual: npt.NDArray[Any], expected: ExpectedOutput) -> Comparison:
    wrong = np.flatnonzero(actual.reshape(-1) != expected.exact.reshape(-1))
    allowed = expected.budget.mismatches
    error = 0.0 if wrong.size == 0 else wrong.size / allowed if allowed else float("inf")
    if wrong.size == 0:
        return Comparison(error, 0, 0.0, 0.0, "")
    distance = np.abs(
        actual.reshape(-1)[wrong].astype(np.float64) - expected.exact.reshape(-1)[wrong]
    )
    box = _bounding_box([wrong], actual.shape)
    return Comparison(error, int(wrong.size), float(distance.max()), float("inf"), box)


def _bounding_box(parts: list[npt.NDArray[np.int64]], shape: tuple[int, ...]) -> str:
    if not parts:
        return ""
    positions = np.unravel_index(np.concatenate(parts), shape or (1,))
    ranges = [f"{int(axis.min())}:{int(axis.max()) + 1}" for axis in positions]
    return f"[{', '.join(ranges)}]"
