"""Cases: inputs, state and expected outputs of a task, made in advance from secret seeds."""

import secrets
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from kernelmill.errors import TaskError
from kernelmill.judge.compare import Expected, make_budget
from kernelmill.judge.protocol import CaseMade
from kernelmill.judge.subject import ReferenceLost, RunnerRaised, Subject
from kernelmill.sandbox import CellFailure
from kernelmill.tasks.task import Task, Variant
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Layout, Node, lay_out

_SEED_BITS = 60
_MAKE_SECONDS = 300.0
_PLAIN_CASES = 3
"""Cases of the shown shape and the file's own distribution; the timed inputs are cut from them."""
_LEAST_CASES = 5
_RENEW_AFTER = 8


class Case(NamedTuple):
    variant: Variant
    flavour: str
    seed: int
    given: Blob
    """Inputs, then state. Goes to the runner."""
    inputs: Node
    state: dict[str, int]
    outputs: Node
    expected: list[Expected]
    """Never leaves the judge."""

    def close(self) -> None:
        self.given.close()


class CaseBook:
    """The cases of one task. The oldest is replaced after every few verdicts."""

    def __init__(self, task: Task, reference: Subject) -> None:
        self._task = task
        self._reference = reference
        self._uses = 0
        self._next = 0
        self.cases = [self.make(variant, flavour) for variant, flavour in _plan(task)]

    @property
    def plain(self) -> list[Case]:
        """Cases of the shown shape and the file's own distribution."""
        return [c for c in self.cases if not c.variant.hidden and c.flavour == "plain"]

    @property
    def seeds(self) -> list[int]:
        return [case.seed for case in self.cases]

    def renew(self) -> None:
        self._uses += 1
        if self._uses % _RENEW_AFTER == 0:
            old = self.cases[self._next]
            try:
                self.cases[self._next] = self.make(old.variant, old.flavour)
            except TaskError as error:
                raise ReferenceLost(str(error)) from error
            old.close()
            self._next = (self._next + 1) % len(self.cases)

    def close(self) -> None:
        for case in self.cases:
            case.close()

    def make(
        self,
        variant: Variant,
        flavour: str,
        seed: int | None = None,
        change: Literal["nothing", "inputs", "state"] = "nothing",
    ) -> Case:
        """A new case. With a known seed, the same again but for new inputs or default state."""
        seed = secrets.randbits(_SEED_BITS) if seed is None else seed
        request = {
            "do": "case",
            "constants": variant.constants,
            "flavour": flavour,
            "seed": seed,
            "change": change,
        }
        try:
            made, files = self._reference.ask(request, CaseMade, _MAKE_SECONDS)
            given, expected = self._take(made, files)
        except (CellFailure, RunnerRaised, OSError, ValueError) as error:
            raise TaskError(f"{self._task.id}: no case could be made: {error}") from error
        return Case(variant, flavour, seed, given, made.inputs, made.state, made.outputs, expected)

    def _take(self, made: CaseMade, files: list[int]) -> tuple[Blob, list[Expected]]:
        if len(files) != 2:
            raise ValueError("the reference answered without its files")
        given = Blob.received(files[0], made.layout)
        blob = Blob.received(files[1], made.expected)
        count = len(made.expected.tensors) // 2
        expected = []
        for index in range(count):
            dtype = made.expected.tensors[index].dtype
            eager, exact = blob.array(index), blob.array(count + index)
            tolerance = self._task.tolerance * (1 if made.precise else 4)
            expected.append(
                Expected(dtype, eager, exact, make_budget(dtype, eager, exact, tolerance))
            )
        blob.close()
        return given, expected


def _plan(task: Task) -> list[tuple[Variant, str]]:
    plan = [(task.shown, "plain")] * _PLAIN_CASES
    plan += [(task.shown, flavour) for flavour in task.flavours if flavour != "plain"]
    for index, variant in enumerate(task.hidden):
        plan.append((variant, task.flavours[index % len(task.flavours)]))
    while len(plan) < _LEAST_CASES:
        plan.append((task.shown, "plain"))
    return plan


class Ring:
    """Inputs for timed calls: one slot a call, every slot new before every batch.

    Fresh values cost a copy, not a draw: each refresh cuts a random block out of another case
    into every tensor, so that no content ever comes back, on unchanged shapes and in the right
    domain. Runners map the ring read-only; all sides read the very same memory.
    """

    def __init__(self, cases: list[Case], slots: int) -> None:
        first = cases[0]
        self._cases = cases
        self._width = len(first.given.layout.tensors) - len(first.state)
        kinds = [(t.dtype, t.shape) for t in first.given.layout.tensors]
        self._layout: Layout = lay_out(kinds[: self._width] * slots + kinds[self._width :])
        self._blob = Blob.ours(self._layout)
        self.slots = slots
        self._places = [
            (slot * self._width + index, index)
            for slot in range(slots)
            for index in range(self._width)
        ] + [
            (slots * self._width + index - self._width, index)
            for index in range(self._width, len(kinds))
        ]
        for number, (place, source) in enumerate(self._places):
            case = cases[(number // max(1, self._width)) % len(cases)]
            self._blob.array(place)[...] = case.given.array(source)

    @property
    def file(self) -> int:
        return self._blob.file

    def request(self) -> dict[str, Any]:
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

    def refresh(self, generator: np.random.Generator) -> None:
        for place, source in self._places:
            target = self._blob.array(place).reshape(-1)
            if target.size == 0:
                continue
            other = self._cases[int(generator.integers(len(self._cases)))]
            length = max(1, int(target.size * generator.uniform(0.2, 0.4)))
            start = int(generator.integers(target.size - length + 1))
            block = slice(start, start + length)
            target[block] = other.given.array(source).reshape(-1)[block]

    def close(self) -> None:
        self._blob.close()
