"""Inputs of timed calls in device memory. Used inside the examiner's sandbox only."""

import math

import numpy as np
import torch

from kernelmill.judge.devices.cuda.memory import as_bytes
from kernelmill.records.tensors import Layout, Tensor
from kernelmill.tensors.torch_side import dtype_name

_ALIGNMENT = 512
_SAMPLE = 4096
_LEAST_FACTOR, _MOST_FACTOR = 0.8, 0.99
"""Factors below 1 preserve signs, zeros and upper bounds."""
_FACTOR_PERIOD = 1 << 16
"""Elements after which the factors of a slot repeat, few enough for them to stay in a cache."""
_LEAST_PERIOD = 1 << 10
_MOST_RESCALES = 16
"""Rescalings before the slots are copied from a case again, since rounding errors add up."""
_GROUPS = 32
"""Number of groups of slots that get the same change, for inputs that cannot be scaled."""


class DeviceInputRing:
    """One slot of inputs per timed call; `refresh` gives every element a new value.

    After a refresh each element is that of a held-out case times a new random factor; integers,
    labels and masks get a random block of another case. The copies of a tensor in all slots are
    adjacent, so that a refresh takes a few kernels, however many slots there are.
    """

    def __init__(
        self, cases: list[list[torch.Tensor]], width: int, slots: int, constant: frozenset[int]
    ) -> None:
        """Each case is `width` inputs, then the state; `constant` tensors keep their values."""
        self._cases = cases
        self._constant = constant
        self.width = width
        self.slots = slots
        self._pitch = [max(1, math.ceil(t.nbytes / _ALIGNMENT)) * _ALIGNMENT for t in cases[0]]
        self._copies = [slots] * width + [1] * (len(cases[0]) - width)
        ends = np.cumsum([p * c for p, c in zip(self._pitch, self._copies, strict=True)])
        self._starts = [0, *ends[:-1].tolist()]
        self.layout = self._lay_out(int(ends[-1]) if ends.size else _ALIGNMENT)
        self._scalable = [_is_continuous(tensor) for tensor in cases[0]]
        factors = torch.empty(_FACTOR_PERIOD * (2 + slots), device=cases[0][0].device)
        self._factors = factors.uniform_(_LEAST_FACTOR, _MOST_FACTOR)

    def _lay_out(self, size: int) -> Layout:
        inputs = [(i, slot) for slot in range(self.slots) for i in range(self.width)]
        state = [(i, 0) for i in range(self.width, len(self._pitch))]
        tensors = []
        for index, slot in (*inputs, *state):
            like = self._cases[0][index]
            offset = self._starts[index] + slot * self._pitch[index]
            tensors.append(Tensor(dtype_name(like.dtype), tuple(like.shape), offset))
        return Layout(tuple(tensors), size)

    def place(self, address: int) -> None:
        """Fill the ring at this address for the first time."""
        self._matrices = [self._over(address, index) for index in range(len(self._pitch))]
        self._before: dict[int, torch.Tensor] = {}
        self._rescales = 0
        for matrix, source in zip(self._matrices, self._cases[0], strict=True):
            matrix.copy_(source.reshape(1, -1).expand_as(matrix))

    def _over(self, address: int, index: int) -> torch.Tensor:
        """All copies of one tensor, as the rows of a matrix."""
        like, pitch, copies = self._cases[0][index], self._pitch[index], self._copies[index]
        whole = as_bytes(address + self._starts[index], pitch * copies).view(like.dtype)
        return whole.view(copies, -1)[:, : like.numel()]

    def refresh(self, rng: np.random.Generator) -> None:
        self._rescales = (self._rescales + 1) % _MOST_RESCALES
        for index, matrix in enumerate(self._matrices):
            if index in self._constant or matrix.numel() == 0:
                continue
            if self._scalable[index]:
                self._scale(index, matrix, rng)
            else:
                self._exchange(index, matrix, rng)

    def _scale(self, index: int, matrix: torch.Tensor, rng: np.random.Generator) -> None:
        """Scale in place by new factors over the old ones, which does not read the case again."""
        slots, count = matrix.shape
        period = math.gcd(count, _FACTOR_PERIOD)
        if period < _LEAST_PERIOD:
            case = self._cases[int(rng.integers(len(self._cases)))]
            matrix.uniform_(_LEAST_FACTOR, _MOST_FACTOR).mul_(case[index].reshape(1, -1))
            return
        start = int(rng.integers(_FACTOR_PERIOD))
        strides = (_FACTOR_PERIOD, period, 1)
        new = torch.as_strided(self._factors, (slots, 1, period), strides, start)
        parts = matrix.view(slots, count // period, period)
        if self._rescales and index in self._before:
            parts.mul_((new / self._before[index]).to(matrix.dtype))
        else:
            case = self._cases[int(rng.integers(len(self._cases)))]
            torch.mul(case[index].view(1, -1, period), new.to(matrix.dtype), out=parts)
        self._before[index] = new

    def _exchange(self, index: int, matrix: torch.Tensor, rng: np.random.Generator) -> None:
        count = matrix.shape[1]
        for group in torch.split(matrix, math.ceil(matrix.shape[0] / _GROUPS)):
            case = self._cases[int(rng.integers(len(self._cases)))]
            length = max(1, int(count * rng.uniform(0.2, 0.4)))
            start = int(rng.integers(count - length + 1))
            part = case[index].reshape(1, -1)[:, start : start + length]
            group[:, start : start + length] = part


def _is_continuous(tensor: torch.Tensor) -> bool:
    """False for labels, masks and counts stored as floats, which must keep their values."""
    sample = tensor.reshape(-1)[:_SAMPLE]
    return tensor.is_floating_point() and bool(torch.unique(sample).numel() > sample.numel() // 4)
