"""Inputs of timed calls in host memory, with new values before every batch."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import HostCase
from kernelmill.records.tensors import Layout, lay_out
from kernelmill.tensors.blob import Blob

_FACTOR_PERIOD = 1 << 18
"""Elements after which the random factors repeat, few enough for them to stay in a cache."""
_MOST_RESCALES = 16
"""Rescalings of a tensor before it is copied from a case again, since rounding errors add up."""
_SAMPLE = 4096
_SCALABLE = ("float16", "float32", "float64")


class _Target(NamedTuple):
    """The index of a tensor of the ring, and of the tensor of a case that its values come from."""

    tensor: int
    source: int


class _Scaling(NamedTuple):
    """The factors that the elements of a tensor are scaled by at present."""

    offset: int
    """Position of the first factor."""
    rescales: int
    """Number of rescalings since the tensor was copied from a case."""


class InputRing:
    """One slot of inputs per timed call; `refresh` gives every element a new value.

    A refresh costs one multiplication per element instead of a random draw: each element is that of
    a held-out case times a new random factor. No tensor, row or element occurs twice. Shapes stay,
    and so do signs, zeros and upper bounds, since factors are below 1. Integers cannot be scaled;
    they get a random block of another case. Runners map the ring read-only, and all of them read
    the same memory.
    """

    def __init__(self, cases: list[HostCase], slots: int, buffers: tuple[str, ...]) -> None:
        """`buffers` keep their values: a model may hold a copy of its own, which it updates."""
        first = cases[0]
        self._cases = cases
        self._width = len(first.given.layout.tensors) - len(first.state)
        specs = [(t.dtype, t.shape) for t in first.given.layout.tensors]
        self._layout: Layout = lay_out(specs[: self._width] * slots + specs[self._width :])
        self._blob = Blob.create(self._layout)
        self.slots = slots
        targets = [
            _Target(slot * self._width + source, source)
            for slot in range(slots)
            for source in range(self._width)
        ]
        targets += [
            _Target((slots - 1) * self._width + source, source)
            for source in range(self._width, len(specs))
        ]
        for tensor, source in targets:
            self._blob.array(tensor)[...] = first.given.array(source)
        constant = {first.state[name] for name in buffers if name in first.state}
        self._targets = [target for target in targets if target.source not in constant]
        self._scalable = [
            t.dtype in _SCALABLE and _is_continuous(first.given.array(index))
            for index, t in enumerate(first.given.layout.tensors)
        ]
        factors = np.random.default_rng().uniform(0.8, 0.99, 2 * _FACTOR_PERIOD)
        self._factors = factors.astype(np.float32)
        self._scalings: dict[int, _Scaling] = {}

    @property
    def file(self) -> int:
        return self._blob.file

    @property
    def bytes(self) -> int:
        return self._layout.bytes + self._factors.nbytes

    def request(self) -> dict[str, Any]:
        """The request by which a runner attaches to it."""
        first = self._cases[0]
        shift = (self.slots - 1) * self._width
        return {
            "do": "ring",
            "layout": msgspec.to_builtins(self._layout),
            "inputs": msgspec.to_builtins(first.inputs),
            "slots": self.slots,
            "slot_width": self._width,
            "state": {name: index + shift for name, index in first.state.items()},
        }

    def refresh(self, rng: np.random.Generator) -> None:
        for tensor, source in self._targets:
            target = self._blob.array(tensor).reshape(-1)
            if target.size == 0:
                continue
            case = self._cases[int(rng.integers(len(self._cases)))]
            values = case.given.array(source).reshape(-1)
            if self._scalable[source]:
                self._scale(tensor, values, target, int(rng.integers(_FACTOR_PERIOD)))
            else:
                length = max(1, int(target.size * rng.uniform(0.2, 0.4)))
                start = int(rng.integers(target.size - length + 1))
                target[start : start + length] = values[start : start + length]

    def _scale(
        self, tensor: int, values: npt.NDArray[Any], target: npt.NDArray[Any], offset: int
    ) -> None:
        """Scale in place by new factors over the old ones, which does not read the case again."""
        factors = self._factors[offset : offset + _FACTOR_PERIOD]
        before = self._scalings.get(tensor)
        rescales = 0
        if before is not None and before.rescales < _MOST_RESCALES:
            values = target
            factors = factors / self._factors[before.offset : before.offset + _FACTOR_PERIOD]
            rescales = before.rescales + 1
        self._scalings[tensor] = _Scaling(offset, rescales)
        for start in range(0, target.size, _FACTOR_PERIOD):
            part = target[start : start + _FACTOR_PERIOD]
            source = values[start : start + _FACTOR_PERIOD]
            np.multiply(source, factors[: part.size], out=part, casting="same_kind")

    def close(self) -> None:
        self._blob.close()


def _is_continuous(values: npt.NDArray[Any]) -> bool:
    """False for labels, masks and counts stored as floats, which must keep their values."""
    sample = values.reshape(-1)[:_SAMPLE]
    return bool(np.unique(sample).size > sample.size // 4)
