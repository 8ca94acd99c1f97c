"""Inputs of timed calls in host memory: other cases before every batch."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from kernelmill.judge.cases import HostCase
from kernelmill.records.tensors import lay_out
from kernelmill.tensors.blob import Blob


class InputRing:
    """One slot per timed call, and one for warming up.

    A slot has the inputs and the state of a whole case, which is an independent draw of the task:
    it keeps the task's promises, and its expected outputs are known. `refill` takes cases that the
    ring does not hold, so that nothing that a process has seen before tells it anything about them:
    one that has got warm here has not seen the cases of two refills. Runners map the ring
    read-only, but for buffers that a call updates in a copy of its own. All runners read the same
    memory.
    """

    def __init__(self, cases: list[HostCase], slots: int) -> None:
        """`cases` are at least `cases_needed(slots)`; the list may change between refills."""
        first = cases[0]
        self._cases = cases
        self.slots = slots
        specs = [(t.dtype, t.shape) for t in first.given.layout.tensors]
        self._width = len(specs)
        self._blob = Blob.create(lay_out(specs * (slots + 1)))
        self._held: list[HostCase] = []
        self.fill(cases[:slots])
        self._warm = cases[0]
        self._fill_slot(slots, self._warm)

    @staticmethod
    def cases_needed(slots: int) -> int:
        """Those of two batches, and one for warming up."""
        return 2 * slots + 1

    @property
    def file(self) -> int:
        return self._blob.file

    @property
    def bytes(self) -> int:
        return self._blob.layout.bytes

    def request(self, buffers: Sequence[str]) -> dict[str, Any]:
        """The request by which a runner attaches to it; `buffers` are those of the task."""
        first = self._cases[0]
        names = {name for name in first.state if name in buffers}
        return {
            "do": "ring",
            "layout": msgspec.to_builtins(self._blob.layout),
            "inputs": msgspec.to_builtins(first.inputs),
            "slots": self.slots + 1,
            "slot_width": self._width,
            "state": {},
            "parameters": {n: index for n, index in first.state.items() if n not in names},
            "buffers": {n: index for n, index in first.state.items() if n in names},
            "strides": first.strides,
            "updated": [name for name in first.updated if name in names],
        }

    def case(self, slot: int) -> HostCase:
        """The case that a timed slot holds."""
        return self._held[slot]

    def refill(self, rng: np.random.Generator) -> None:
        """Fill all timed slots with cases that are not in the ring, in a random order."""
        self.fill(self._others(rng))

    def fill(self, cases: Sequence[HostCase]) -> None:
        """Fill the timed slots with these cases, which may be of any distribution."""
        self._held = list(cases[: self.slots])
        for slot, case in enumerate(self._held):
            self._fill_slot(slot, case)

    def fill_with(self, cases: Sequence[HostCase], rng: np.random.Generator) -> None:
        """Fill the timed slots with these cases and with others that are not in the ring, in a
        random order."""
        chosen = [*cases, *self._others(rng)][: self.slots]
        self.fill([chosen[number] for number in rng.permutation(len(chosen))])

    def refill_warm_up(self, rng: np.random.Generator) -> None:
        """Give the slot for warming up a case that the next refills do not use."""
        self._warm = self._held[int(rng.integers(len(self._held)))]
        self._fill_slot(self.slots, self._warm)

    def warm_caches(self) -> None:
        """Bring it into the caches, where the operators before leave the inputs of the next one.

        Copies of large tensors go around the caches. Lines that are read twice stay.
        """
        for _ in range(2):
            self._blob.read_through()

    def _others(self, rng: np.random.Generator) -> list[HostCase]:
        """Enough cases that are not in the ring, in a random order."""
        held = {id(case) for case in (*self._held, self._warm)}
        others = [case for case in self._cases if id(case) not in held]
        return [others[number] for number in rng.permutation(len(others))[: self.slots]]

    def _fill_slot(self, slot: int, case: HostCase) -> None:
        for index in range(self._width):
            self._blob.array(slot * self._width + index)[...] = case.given.array(index)

    def close(self) -> None:
        self._blob.close()
