"""Choice of a task's input distributions: those under which its reference defines the result.

Used inside sandboxes only.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch

from kernelmill.tasks.distributions import BASIC, EXTREMES, INFINITIES, STRUCTURES, limit_of
from kernelmill.tasks.module import tensors_in
from kernelmill.tasks.probing import Probe

_MOST_DISPUTED = 0.01
"""Share of elements for which float32 and float64 may disagree on whether they are finite: the
order of a sum decides there."""
_MOST_NON_FINITE = 0.5
"""A draw with more NaN and infinities than this among its outputs says little."""
_SEEDS = (20_260_101, 20_260_202)
_ANY_OF_EQUALS = ("topk", "sort.", "argsort", "kthvalue", "median", "mode")
"""Operators that choose any of equal values; `max` and `argmax` choose the first."""
_SPREADS = "fast products (Strassen, Winograd) spread it over results that do not depend on it"
_UNDEFINED = "the reference does not define enough of its result there"
_OUTSIDE = "outside of the task's domain"


class Tried(NamedTuple):
    distributions: tuple[str, ...]
    untried: tuple[str, ...]
    """What no trial holds, with the reason."""


class _Outcome(NamedTuple):
    """The outputs of the reference under a distribution, flat and all together."""

    eager: torch.Tensor
    exact: torch.Tensor
    """In float64, rounded to the type of the output."""

    @property
    def non_finite_share(self) -> float:
        return float((~torch.isfinite(self.eager)).double().mean())

    @property
    def disputed_share(self) -> float:
        return float((_classes(self.eager) != _classes(self.exact)).double().mean())


def choose_distributions(
    probe: Probe, shown: Probe, signature: Sequence[str], multiplies: bool
) -> Tried:
    """Try every distribution on small sizes, and the largest magnitudes on the shown sizes as well.

    `multiplies` says whether the task has products of matrices.
    """
    trying = _Trying(probe)
    basic = ["plain", *(name for name in BASIC[1:] if trying.stays_finite(name, _SEEDS[:1]))]
    parts = [Tried(tuple(basic), ()), _structures(trying, signature)]
    if trying.has_floats:
        parts += [_special_values(trying, multiplies), _magnitudes(trying, _Trying(shown))]
    return Tried(
        tuple(name for part in parts for name in part.distributions),
        tuple(line for part in parts for line in part.untried),
    )


def _structures(trying: "_Trying", signature: Sequence[str]) -> Tried:
    tried, untried = [], []
    for name in STRUCTURES:
        if not trying.changes_anything(name):
            continue
        if name == "ties" and not _ties_are_defined(trying, signature):
            untried.append("ties: which of equal values is chosen is not defined")
        elif trying.stays_finite(name, _SEEDS):
            tried.append(name)
        else:
            untried.append(f"{name}: the reference is not finite there")
    return Tried(tuple(tried), tuple(untried))


def _special_values(trying: "_Trying", multiplies: bool) -> Tried:
    """NaN where the reference says which results it reaches, and the infinities that do not become
    NaN: there (infinity minus infinity) another formula of the same function has a limit."""
    if not trying.changes_anything("nan"):
        return Tried((), (f"NaN, infinities and denormals: {_OUTSIDE}",))
    tried, untried = [], []
    if multiplies:
        untried.append(f"NaN and infinities: {_SPREADS}")
    else:
        tried += ["nan"] if trying.is_defined("nan") else []
        untried += [] if tried else [f"NaN: {_UNDEFINED}"]
        infinite = next((name for name in INFINITIES if trying.is_defined(name, nan=False)), None)
        tried += [infinite] if infinite else []
        untried += [] if infinite == INFINITIES[0] else [f"{_lost(infinite)}: {_UNDEFINED}"]
    if not tried and trying.changes_anything("denormal"):
        tried = ["denormal"] if trying.is_defined("denormal") else []
    return Tried(tuple(tried), tuple(untried))


def _lost(infinite: str | None) -> str:
    return {"infinite-plus": "minus infinity", "infinite-minus": "infinity"}.get(
        infinite or "", "infinities"
    )


def _magnitudes(trying: "_Trying", shown: "_Trying") -> Tried:
    if not trying.changes_anything(EXTREMES[0]):
        return Tried((), (f"magnitudes beyond a thousand: {_OUTSIDE}",))
    both = (trying, shown)
    chosen = next((n for n in EXTREMES if all(one.is_defined_up_to(n) for one in both)), None)
    if chosen == EXTREMES[0]:
        return Tried((chosen,), ())
    limit = "a thousand" if chosen is None else f"1e{chosen.partition('-')[2]}"
    untried = (f"magnitudes beyond {limit}: {_UNDEFINED}",)
    return Tried(() if chosen is None else (chosen,), untried)


class _Trying:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        plain = tensors_in(probe.inputs("plain", _SEEDS[0]))
        self.has_floats = any(tensor.is_floating_point() for tensor in plain)

    def changes_anything(self, name: str) -> bool:
        before, after = (tensors_in(self.probe.inputs(n, _SEEDS[0])) for n in ("plain", name))
        return any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))

    def stays_finite(self, name: str, seeds: Iterable[int]) -> bool:
        return all(self.probe.is_finite(self.probe.inputs(name, seed)) for seed in seeds)

    def is_defined_up_to(self, extreme: str) -> bool:
        """Draws are of random magnitudes: two that are defined promise nothing of larger ones."""
        return self.is_defined(extreme) and self.is_defined(limit_of(extreme))

    def is_defined(self, name: str, nan: bool = True) -> bool:
        """Whether float32 and float64 agree on what is finite, and enough of it is.

        `nan` says whether NaN is accepted among the outputs.
        """
        return all(
            outcome is not None
            and outcome.disputed_share <= _MOST_DISPUTED
            and outcome.non_finite_share <= _MOST_NON_FINITE
            and (nan or not bool(outcome.exact.isnan().any()))
            for outcome in (self._outcome(name, seed) for seed in _SEEDS)
        )

    def _outcome(self, name: str, seed: int) -> _Outcome | None:
        inputs = self.probe.inputs(name, seed)
        try:
            wide = self.probe.wide_outputs(inputs)
            eager = self.probe.outputs(inputs)
        except torch.OutOfMemoryError:  # says nothing about the inputs
            raise
        except Exception:  # the task's own code may raise anything on inputs it was not made for
            return None
        pairs = [
            (output, output if wide is None else wide[index].to(output.dtype))
            for index, output in enumerate(eager)
            if output.is_floating_point()
        ]
        if not pairs:
            return _Outcome(torch.zeros(1), torch.zeros(1))
        own, exact = zip(*pairs, strict=True)
        return _Outcome(_flat(own), _flat(exact))


def _flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.reshape(-1).float() for tensor in tensors])


def _classes(values: torch.Tensor) -> torch.Tensor:
    """0 for finite values, 1 for NaN, 2 and 3 for the infinities."""
    infinite = torch.isinf(values)
    return torch.isnan(values) + 2 * infinite + (infinite & (values < 0))


def _ties_are_defined(trying: _Trying, signature: Sequence[str]) -> bool:
    """Whether the result stays nearly the same when equal values become almost equal."""
    if not any(name.startswith(_ANY_OF_EQUALS) for name in signature):
        return True
    probe = trying.probe
    tied = probe.inputs("ties", _SEEDS[0])
    broken = [_almost_equal(value) for value in tied]
    pairs = zip(probe.outputs(tied), probe.outputs(broken), strict=True)
    return all(
        torch.allclose(a, b, 1e-4, 1e-4) if a.is_floating_point() else torch.equal(a, b)
        for a, b in pairs
    )


def _almost_equal(value: object) -> object:
    """A tensor whose elements are changed by some units in the last place."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    generator = torch.Generator(value.device).manual_seed(_SEEDS[0])
    noise = torch.rand(value.shape, generator=generator, device=value.device)
    return value * (1 + 64 * torch.finfo(value.dtype).eps * noise.to(value.dtype))
