"""Comparison of outputs in device memory, by the same measure as in host memory.

Used inside the examiner's sandbox only.
"""

from typing import NamedTuple

import torch

from kernelmill.judge.compare import (
    ROUNDED_TOLERANCE,
    WELL_CONDITIONED,
    Comparison,
    Conditioning,
    ErrorBudget,
    OwnError,
    derive_budget,
    discrete_budget,
)
from kernelmill.tensors.torch_side import dtype_name

_CHUNK = 1 << 26
"""Elements compared at a time, few enough for their intermediate results to fit on the device."""
_CAP_SLACK = 2.0
"""Factor on the cap of one element in timed calls, where neither side is exact."""
_NORM_SLACK = 1.5
"""Factor on the error norm in timed calls, where mostly a sample of the elements is compared."""
_LARGEST = 1e300
"""Stands for infinity, which messages cannot contain."""


class ExpectedTensor(NamedTuple):
    """The reference values of one output of one case, in device memory."""

    eager: torch.Tensor
    exact: torch.Tensor
    budget: ErrorBudget

    @property
    def bytes(self) -> int:
        return self.eager.nbytes + self.exact.nbytes


class TimedError(NamedTuple):
    wrong: int
    """Number of elements above the cap."""
    norm: float
    """The error norm, as a share of the accepted one."""


def make_tensor_budget(
    eager: torch.Tensor,
    exact: torch.Tensor,
    tolerance: float,
    longest: int = 1,
    conditioning: Conditioning = WELL_CONDITIONED,
) -> ErrorBudget:
    """The budget of an output in device memory."""
    if not eager.is_floating_point():
        return discrete_budget(int(torch.count_nonzero(eager != exact)))
    squares, scale, worst = 0.0, 0.0, 0.0
    for own, reference in _chunks(eager, exact):
        finite = torch.isfinite(own) & torch.isfinite(reference)
        reference = torch.where(finite, reference, 0.0)
        error = torch.where(finite, own, 0.0).double().sub_(reference).abs_()
        squares += float(error.square().sum())
        scale += float(reference.square().sum())
        worst = max(worst, float(error.max()))
    count = max(1, eager.numel())
    statistics = OwnError((squares / count) ** 0.5, worst, (scale / count) ** 0.5, count)
    dtype = dtype_name(eager.dtype)
    return derive_budget(dtype, statistics, tolerance, longest, conditioning)


def make_rounded_budget(eager: torch.Tensor, exact: torch.Tensor) -> ErrorBudget:
    """The budget of an output whose reference rounds operands to less than float32."""
    return make_tensor_budget(eager, exact, ROUNDED_TOLERANCE)


def compare_tensors(actual: torch.Tensor, expected: ExpectedTensor) -> Comparison:
    """Compare one output, which has the shape and type of the expected one."""
    if not expected.eager.is_floating_point():
        return _compare_discrete(actual, expected)
    budget = expected.budget
    squares, worst, worst_relative = 0.0, 0.0, 0.0
    wrong: list[torch.Tensor] = []
    for ours, eager, exact in _chunks(actual, expected.eager, expected.exact):
        error = _errors(ours, eager, exact)
        squares += float(error.square().sum())
        worst = max(worst, float(error.max()))
        size = torch.nan_to_num(exact.abs(), nan=0.0, posinf=0.0)
        over = error > budget.absolute + budget.relative * size
        wrong.append(over)
        if bool(over.any()):
            tiny = torch.finfo(torch.float64).tiny
            worst_relative = max(
                worst_relative, float((error[over] / size[over].clamp(min=tiny)).max())
            )
    count = sum(int(part.sum()) for part in wrong)
    norm = (squares / max(1, actual.numel())) ** 0.5
    share = norm / budget.norm if budget.norm > 0 else (0.0 if norm == 0 else float("inf"))
    if count:
        share = max(share, worst / budget.absolute if budget.absolute else float("inf"), 1.001)
    box = _bounding_box(torch.cat(wrong), actual.shape) if count else ""
    return Comparison(_finite(share), count, _finite(worst), _finite(worst_relative), box)


def compare_timed(actual: torch.Tensor, wanted: torch.Tensor, budget: ErrorBudget) -> TimedError:
    """Compare two results of the same precision, with slack for the errors of both."""
    if not wanted.is_floating_point():
        return TimedError(int(torch.count_nonzero(actual != wanted)), 0.0)
    if wanted.dtype == torch.float32 and (norm := _norm_in_float32(actual, wanted, budget)) <= 1:
        return TimedError(0, norm)
    wrong, squares = 0, 0.0
    for ours, theirs in _chunks(actual, wanted):
        ours, theirs = ours.double(), theirs.double()
        error = (ours - theirs).abs_()
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        error.masked_fill_(same, 0.0)
        allowed = _CAP_SLACK * (budget.absolute + budget.relative * theirs.abs())
        wrong += int(torch.count_nonzero(~(error <= allowed)))
        squares += float(error.square().sum())
    norm = (squares / max(1, wanted.numel())) ** 0.5
    allowed_norm = _NORM_SLACK * budget.norm
    share = norm / allowed_norm if allowed_norm else float(norm > 0) * _LARGEST
    return TimedError(wrong, share if share <= _LARGEST else _LARGEST)


def _norm_in_float32(actual: torch.Tensor, wanted: torch.Tensor, budget: ErrorBudget) -> float:
    """A fast check in single precision, in which the difference of close numbers is exact.

    Returns the share of the accepted norm; infinity where double precision must decide.
    """
    error = actual - wanted
    largest, norm = torch.stack(
        [torch.linalg.vector_norm(error, float("inf")), torch.linalg.vector_norm(error)]
    ).tolist()
    allowed = _NORM_SLACK * budget.norm * max(1, wanted.numel()) ** 0.5
    if largest <= _CAP_SLACK * budget.absolute and norm <= allowed:
        return norm / allowed if allowed else 0.0
    return float("inf")


def _chunks(*tensors: torch.Tensor) -> "zip[tuple[torch.Tensor, ...]]":
    return zip(*(torch.split(tensor.reshape(-1), _CHUNK) for tensor in tensors), strict=True)


def _errors(ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Errors with 0 where the output has the reference's own NaN or infinity, in either precision.

    Any other value there, and any other value that is not finite, is infinitely wrong. Where the
    reference is finite in one precision only, the output may be close to the finite value, or not
    finite.
    """
    error = ours.double().sub_(exact).abs_()
    if not bool(torch.isfinite(error).all()):
        rounded = exact.to(eager.dtype)
        same = (ours == eager) | (ours == rounded)
        same |= ours.isnan() & (eager.isnan() | rounded.isnan())
        special = torch.where(same, 0.0, float("inf")).double()
        error = torch.where(torch.isfinite(eager), error, special)
        disputed = torch.isfinite(eager) != torch.isfinite(rounded)
        nearest = torch.fmin((ours - exact).abs(), (ours.double() - eager).abs())
        settled = torch.where(torch.isfinite(ours), nearest, 0.0).double()
        error = torch.where(disputed, settled, error)
        error = torch.nan_to_num(error, nan=float("inf"), posinf=float("inf"))
    return error


def _compare_discrete(actual: torch.Tensor, expected: ExpectedTensor) -> Comparison:
    wrong = actual != expected.exact
    count, allowed = int(wrong.sum()), expected.budget.mismatches
    if count == 0:
        return Comparison(0.0, 0, 0.0, 0.0, "")
    error = count / allowed if allowed else float("inf")
    distance = float((actual.double() - expected.exact.double()).abs().max())
    box = _bounding_box(wrong, actual.shape)
    return Comparison(_finite(error), count, _finite(distance), _LARGEST, box)


def _finite(number: float) -> float:
    return min(number, _LARGEST)


def _bounding_box(wrong: torch.Tensor, shape: torch.Size) -> str:
    wrong = wrong.reshape(shape or (1,))
    ranges = []
    for axis in range(wrong.dim()):
        others = [other for other in range(wrong.dim()) if other != axis]
        line = torch.any(wrong, dim=others) if others else wrong
        positions = line.nonzero()
        ranges.append(f"{int(positions.min())}:{int(positions.max()) + 1}")
    return f"[{', '.join(ranges)}]"
