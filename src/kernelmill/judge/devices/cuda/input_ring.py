"""Inputs of timed calls in device memory. Used inside the examiner's sandbox only."""

import math

import numpy as np
import torch

from kernelmill.judge.devices.cuda.memory import as_bytes
from kernelmill.records.tensors import Layout, Tensor
from kernelmill.tensors.torch_side import dtype_name

_ALIGNMENT = 512
_SAMPLE = 4096
_LINES = 512
"""Lines and columns in which order is looked for before it is in a whole tensor."""
_LEAST_FACTOR, _MOST_FACTOR = 0.8, 0.99
"""Factors below 1 preserve upper bounds."""
_SIGNED_SHARE = 0.25
"""Share of negative and of positive elements from which on signs are drawn anew, too."""
_CHUNK_ELEMENTS = 1 << 28
"""Elements drawn at a time, few enough for their factors to fit on the device."""


class DeviceInputRing:
    """One slot of inputs and parameters per timed call; `refresh` draws all of them anew.

    No process can be forked while it uses a device, so a candidate may remember what it saw. Each
    element of a refreshed slot therefore has a random factor to itself, a random sign where signs
    are mixed, and its place is shifted: neither values, nor ratios, nor order, nor places return.
    Tensors with structure (labels, masks, sorted values) are whole tensors of a random case. The
    copies of a tensor in all slots are adjacent, so that a refresh takes a few kernels, however
    many slots there are.
    """

    def __init__(self, cases: list[list[torch.Tensor]], slots: int, shared: frozenset[int]) -> None:
        """Each case is inputs, then state; all slots share the `shared` tensors, which stay."""
        self._cases = cases
        self._shared = sorted(shared)
        self._own = [index for index in range(len(cases[0])) if index not in shared]
        self.width = len(self._own)
        self.slots = slots
        self._pitch = [max(1, math.ceil(t.nbytes / _ALIGNMENT)) * _ALIGNMENT for t in cases[0]]
        self._copies = [1 if index in shared else slots for index in range(len(cases[0]))]
        ends = np.cumsum([p * c for p, c in zip(self._pitch, self._copies, strict=True)])
        self._starts = [0, *ends[:-1].tolist()]
        self.layout = self._lay_out(int(ends[-1]) if ends.size else _ALIGNMENT)
        self._unstructured = [_is_unstructured(tensor) for tensor in cases[0]]

    def _lay_out(self, size: int) -> Layout:
        own = [(index, slot) for slot in range(self.slots) for index in self._own]
        tensors = []
        for index, slot in (*own, *((index, 0) for index in self._shared)):
            like = self._cases[0][index]
            offset = self._starts[index] + slot * self._pitch[index]
            tensors.append(Tensor(dtype_name(like.dtype), tuple(like.shape), offset))
        return Layout(tuple(tensors), size)

    def shared_state(self, state: dict[str, int]) -> dict[str, int]:
        """Indices in the layout of the state that all slots share."""
        after_slots = self.slots * self.width
        return {
            name: after_slots + self._shared.index(index)
            for name, index in state.items()
            if index in self._shared
        }

    def own_state(self, state: dict[str, int]) -> dict[str, int]:
        """Indices within a slot of the state that every slot has to itself."""
        return {
            name: self._own.index(index)
            for name, index in state.items()
            if index not in self._shared
        }

    def place(self, address: int) -> None:
        """Fill the ring at this address for the first time."""
        self._matrices = [self._over(address, index) for index in range(len(self._pitch))]
        for matrix, source in zip(self._matrices, self._cases[0], strict=True):
            matrix.copy_(source.reshape(1, -1).expand_as(matrix))

    def _over(self, address: int, index: int) -> torch.Tensor:
        """All copies of one tensor, as the rows of a matrix."""
        like, pitch, copies = self._cases[0][index], self._pitch[index], self._copies[index]
        whole = as_bytes(address + self._starts[index], pitch * copies).view(like.dtype)
        return whole.view(copies, -1)[:, : like.numel()]

    def refresh(self, rng: np.random.Generator) -> None:
        for index in self._own:
            matrix = self._matrices[index]
            if matrix.numel() == 0:
                continue
            rows = max(1, _CHUNK_ELEMENTS // matrix.shape[1])
            for part in torch.split(matrix, rows):
                case = self._cases[int(rng.integers(len(self._cases)))]
                source = case[index].reshape(-1)
                if not self._unstructured[index]:
                    self._exchange(part, index, rng)
                elif source.numel() > _CHUNK_ELEMENTS:
                    _draw_in_chunks(part[0], source, rng)
                else:
                    _draw(part, source, rng)

    def _exchange(self, part: torch.Tensor, index: int, rng: np.random.Generator) -> None:
        """Give every slot the tensor of a random case."""
        sources = [case[index].reshape(-1) for case in self._cases]
        chosen = torch.from_numpy(rng.integers(len(sources), size=part.shape[0]))
        if part.shape[0] == 1:
            part[0].copy_(sources[int(chosen)])
        else:
            torch.index_select(torch.stack(sources), 0, chosen.to(part.device), out=part)


def _draw(part: torch.Tensor, source: torch.Tensor, rng: np.random.Generator) -> None:
    """Fill the rows with the source, shifted by another distance in each, times new factors."""
    slots, count = part.shape
    start, step = int(rng.integers(count)), int(rng.integers(1, count // slots + 2))
    length = start + (slots - 1) * step + count
    repeated = source.repeat(-(-length // count))
    shifted = torch.as_strided(repeated, (slots, count), (step, 1), start)
    factors = _factors(part, _has_mixed_signs(source))
    torch.mul(shifted, factors.to(part.dtype), out=part)


def _draw_in_chunks(row: torch.Tensor, source: torch.Tensor, rng: np.random.Generator) -> None:
    """The same for a single row that is too large for its factors to fit on the device."""
    count = source.numel()
    start, signed = int(rng.integers(count)), _has_mixed_signs(source)
    for first, last in ((0, count - start), (count - start, count)):
        shift = start if first == 0 else start - count
        for begin in range(first, last, _CHUNK_ELEMENTS):
            end = min(last, begin + _CHUNK_ELEMENTS)
            part = source[begin + shift : end + shift]
            torch.mul(part, _factors(part, signed).to(part.dtype), out=row[begin:end])


def _factors(like: torch.Tensor, signed: bool) -> torch.Tensor:
    factors = torch.empty(like.shape, dtype=torch.float32, device=like.device)
    factors.uniform_(_LEAST_FACTOR, _MOST_FACTOR)
    if signed:
        factors.mul_(torch.randint_like(factors, 0, 2).mul_(2).sub_(1))
    return factors


def _has_mixed_signs(tensor: torch.Tensor) -> bool:
    sample = tensor[:_SAMPLE]
    shares = (float((sample < 0).float().mean()), float((sample > 0).float().mean()))
    return min(shares) > _SIGNED_SHARE


def _is_unstructured(tensor: torch.Tensor) -> bool:
    """False for labels, masks and counts, which must keep their values, and for sorted tensors,
    which must keep their order."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return False
    sample = tensor.reshape(-1)[:_SAMPLE]
    if torch.unique(sample).numel() <= sample.numel() // 4:
        return False
    if tensor.dim() == 0:
        return True
    lines = tensor if tensor.dim() == 1 else tensor.flatten(0, -2)
    return not any(
        _is_sorted(lines[:_LINES, :_LINES] if lines.dim() > 1 else lines[:_SAMPLE], dim)
        and _is_sorted(lines, dim)
        for dim in range(lines.dim())
        if lines.shape[dim] > 2
    )


def _is_sorted(lines: torch.Tensor, dim: int) -> bool:
    return bool((lines.diff(dim=dim) >= 0).all()) or bool((lines.diff(dim=dim) <= 0).all())
