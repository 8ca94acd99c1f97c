"""Inputs for timed calls in device memory. Used inside the examiner's cell only."""

import math

import numpy as np
import torch

from kernelmill.judge.cuda.memory import as_bytes
from kernelmill.tensors.layout import Layout, Tensor
from kernelmill.tensors.torch_side import dtype_name

_ALIGNMENT = 512
_SAMPLE = 4096
_LEAST, _MOST = 0.8, 0.99
"""Factors below 1 leave signs, zeros and upper bounds as they are."""
_PERIOD = 1 << 16
"""After so many elements the factors repeat; each slot has others. Few enough for the cache."""
_LEAST_PERIOD = 1 << 10
_AFRESH = 16
"""How often a slot is scaled on before it is filled from a case again: roundings add up."""
_GROUPS = 32
"""Slots of inputs that cannot be scaled get the same change in so many groups."""


class DeviceRing:
    """One slot a call, every number in them new before every batch.

    After every refresh each element is that of a stored case times a new random factor; integers,
    labels and masks get a random block of another case. Equal tensors of all slots lie one behind
    the other, so that a refresh is a few kernels however many slots there are.
    """

    def __init__(
        self, stock: list[list[torch.Tensor]], width: int, slots: int, constant: frozenset[int]
    ) -> None:
        """Each of the stock: `width` inputs, then the state. Constant tensors keep their values."""
        self._stock = stock
        self._constant = constant
        self.width = width
        self.slots = slots
        self._pitch = [max(1, math.ceil(t.nbytes / _ALIGNMENT)) * _ALIGNMENT for t in stock[0]]
        self._copies = [slots] * width + [1] * (len(stock[0]) - width)
        ends = np.cumsum([p * c for p, c in zip(self._pitch, self._copies, strict=True)])
        self._starts = [0, *ends[:-1].tolist()]
        self.layout = self._lay_out(int(ends[-1]) if ends.size else _ALIGNMENT)
        self._scalable = [_is_continuous(tensor) for tensor in stock[0]]
        length = _PERIOD * (2 + slots)
        self._factors = torch.empty(length, device=stock[0][0].device).uniform_(_LEAST, _MOST)

    def _lay_out(self, size: int) -> Layout:
        inputs = [(i, slot) for slot in range(self.slots) for i in range(self.width)]
        state = [(i, 0) for i in range(self.width, len(self._pitch))]
        tensors = []
        for index, slot in (*inputs, *state):
            like = self._stock[0][index]
            offset = self._starts[index] + slot * self._pitch[index]
            tensors.append(Tensor(dtype_name(like.dtype), tuple(like.shape), offset))
        return Layout(tuple(tensors), size)

    def place(self, address: int) -> None:
        """Fill it for the first time, at this address."""
        self._rows = [self._over(address, index) for index in range(len(self._pitch))]
        self._before: dict[int, torch.Tensor] = {}
        self._times = 0
        for row, source in zip(self._rows, self._stock[0], strict=True):
            row.copy_(source.reshape(1, -1).expand_as(row))

    def _over(self, address: int, index: int) -> torch.Tensor:
        """All copies of one tensor as the rows of a matrix."""
        like, pitch, copies = self._stock[0][index], self._pitch[index], self._copies[index]
        whole = as_bytes(address + self._starts[index], pitch * copies).view(like.dtype)
        return whole.view(copies, -1)[:, : like.numel()]

    def refresh(self, generator: np.random.Generator) -> None:
        self._times = (self._times + 1) % _AFRESH
        for index, row in enumerate(self._rows):
            if index in self._constant or row.numel() == 0:
                continue
            if self._scalable[index]:
                self._scale(index, row, generator)
            else:
                self._exchange(index, row, generator)

    def _scale(self, index: int, row: torch.Tensor, generator: np.random.Generator) -> None:
        """In place, by new factors over the old: the case itself need not be read again."""
        slots, count = row.shape
        period = math.gcd(count, _PERIOD)
        if period < _LEAST_PERIOD:
            case = self._stock[int(generator.integers(len(self._stock)))]
            row.uniform_(_LEAST, _MOST).mul_(case[index].reshape(1, -1))
            return
        start = int(generator.integers(_PERIOD))
        new = torch.as_strided(self._factors, (slots, 1, period), (_PERIOD, period, 1), start)
        parts = row.view(slots, count // period, period)
        if self._times and index in self._before:
            parts.mul_((new / self._before[index]).to(row.dtype))
        else:
            case = self._stock[int(generator.integers(len(self._stock)))]
            torch.mul(case[index].view(1, -1, period), new.to(row.dtype), out=parts)
        self._before[index] = new

    def _exchange(self, index: int, row: torch.Tensor, generator: np.random.Generator) -> None:
        count = row.shape[1]
        for group in torch.split(row, math.ceil(row.shape[0] / _GROUPS)):
            case = self._stock[int(generator.integers(len(self._stock)))]
            length = max(1, int(count * generator.uniform(0.2, 0.4)))
            start = int(generator.integers(count - length + 1))
            part = case[index].reshape(1, -1)[:, start : start + length]
            group[:, start : start + length] = part


def _is_continuous(tensor: torch.Tensor) -> bool:
    """Not labels, masks or counts kept as floats, which must stay what they are."""
    sample = tensor.reshape(-1)[:_SAMPLE]
    return tensor.is_floating_point() and bool(torch.unique(sample).numel() > sample.numel() // 4)
