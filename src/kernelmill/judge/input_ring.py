"""Inputs of timed calls in host memory: other cases before every batch."""

from typing import Any

import msgspec
import numpy as np

from kernelmill.judge.cases import HostCase
from kernelmill.records.tensors import lay_out
from kernelmill.tensors.blob import Blob


class InputRing:
    """One slot per timed call, and one for warming up.

    A slot has the inputs and the parameters of a whole case, which is an independent draw of the
    task: it keeps the task's promises, and its expected outputs are known. `refill` takes cases
    that the ring does not hold, so that nothing that a process has seen before tells it anything
    about them. Buffers are shared by all slots and stay, since a model may update its own copy.
    Runners map the ring read-only, and all of them read the same memory.
    """

    def __init__(self, cases: list[HostCase], slots: int, buffers: tuple[str, ...]) -> None:
        """`cases` are at least `cases_needed(slots)`; the list may change between refills."""
        first = cases[0]
        self._cases = cases
        self.slots = slots
        shared = [first.state[name] for name in buffers if name in first.state]
        specs = [(t.dtype, t.shape) for t in first.given.layout.tensors]
        self._own = [index for index in range(len(specs)) if index not in shared]
        self._width = len(self._own)
        own_specs = [specs[index] for index in self._own] * (slots + 1)
        self._blob = Blob.create(lay_out([*own_specs, *(specs[index] for index in shared)]))
        for number, index in enumerate(shared):
            place = (slots + 1) * self._width + number
            self._blob.array(place)[...] = first.given.array(index)
        self._held = list(range(slots))
        for slot in range(slots + 1):
            self._fill(slot, min(slot, slots - 1))

    @staticmethod
    def cases_needed(slots: int) -> int:
        """Twice the slots, and one more so that the order of batches is open."""
        return 2 * slots + 1

    @property
    def file(self) -> int:
        return self._blob.file

    @property
    def bytes(self) -> int:
        return self._blob.layout.bytes

    def request(self) -> dict[str, Any]:
        """The request by which a runner attaches to it."""
        first = self._cases[0]
        own = {index: place for place, index in enumerate(self._own)}
        after_slots = (self.slots + 1) * self._width
        buffers = [name for name, index in first.state.items() if index not in own]
        return {
            "do": "ring",
            "layout": msgspec.to_builtins(self._blob.layout),
            "inputs": msgspec.to_builtins(first.inputs),
            "slots": self.slots + 1,
            "slot_width": self._width,
            "state": {name: after_slots + number for number, name in enumerate(buffers)},
            "parameters": {n: own[index] for n, index in first.state.items() if index in own},
        }

    def case(self, slot: int) -> HostCase:
        """The case that a timed slot holds."""
        return self._cases[self._held[slot]]

    def refill(self, rng: np.random.Generator) -> None:
        """Fill all timed slots with cases that are not in the ring, in a random order."""
        others = [number for number in range(len(self._cases)) if number not in self._held]
        self._held = rng.permutation(others)[: self.slots].tolist()
        for slot, number in enumerate(self._held):
            self._fill(slot, number)

    def refill_warm_up(self, rng: np.random.Generator) -> None:
        """Give the slot for warming up a case that the next refill does not use."""
        self._fill(self.slots, int(rng.choice(self._held)))

    def _fill(self, slot: int, number: int) -> None:
        case = self._cases[number]
        for place, index in enumerate(self._own):
            self._blob.array(slot * self._width + place)[...] = case.given.array(index)

    def close(self) -> None:
        self._blob.close()
