"""Cases: inputs, state and expected outputs of a task, made in advance from secret seeds."""

import secrets
from abc import ABC, abstractmethod
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.errors import TaskError
from kernelmill.judge import hidden_sizes
from kernelmill.judge.compare import Expected, make_budget
from kernelmill.judge.protocol import CaseMade
from kernelmill.judge.subject import ReferenceLost, RunnerRaised, Subject
from kernelmill.sandbox import CellFailure
from kernelmill.tasks.task import Task, Variant
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Layout, Node, lay_out

_SEED_BITS = 60
_MAKE_SECONDS = 300.0
_PLAIN_TRIALS = 2
_LEAST_TRIALS = 5
_STOCK = 2
_RENEW_AFTER = 8
_PERIOD = 1 << 18
"""After so many elements the factors repeat: few enough to stay in a cache."""
_AFRESH = 16
"""How often a slot is scaled on before it is filled from a case again: roundings add up."""
_SAMPLE = 4096
_SCALABLE = ("float16", "float32", "float64")


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

    @property
    def bytes(self) -> int:
        answers = sum(one.eager.nbytes + one.exact.nbytes for one in self.expected)
        return self.given.layout.bytes + answers

    def close(self) -> None:
        self.given.close()


class Drawn(Protocol):
    """What is common to the cases of all devices."""

    @property
    def variant(self) -> Variant: ...
    @property
    def flavour(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def close(self) -> None: ...


_Case = TypeVar("_Case", bound=Drawn)


class CaseBook(ABC, Generic[_Case]):
    """The cases of one task. The oldest is replaced after every few verdicts."""

    def __init__(self, task: Task) -> None:
        self._uses = 0
        self._next = 0
        self.trials = [self.make(task.shown, flavour) for flavour in _flavours(task)]
        self.trials += [self._make_hidden(task, number) for number in range(len(task.hidden))]
        self.stock = [self.make(task.shown, "plain") for _ in range(_STOCK)]
        """Never used in a trial before the clock has run: timed inputs are made from them."""

    @abstractmethod
    def make(self, variant: Variant, flavour: str) -> _Case:
        """A new case, from a secret seed. Raises TaskError."""

    @property
    def seeds(self) -> list[int]:
        return [case.seed for case in (*self.trials, *self.stock)]

    @property
    def bytes(self) -> int:
        return sum(case.bytes for case in (*self.trials, *self.stock))

    @property
    def files(self) -> int:
        return len(self.trials) + len(self.stock)

    def renew(self) -> None:
        self._uses += 1
        if self._uses % _RENEW_AFTER == 0:
            old = self.trials[self._next]
            try:
                self.trials[self._next] = self.make(old.variant, old.flavour)
            except TaskError as error:
                raise ReferenceLost(str(error)) from error
            old.close()
            self._next = (self._next + 1) % len(self.trials)

    def close(self) -> None:
        for case in (*self.trials, *self.stock):
            case.close()

    def _make_hidden(self, task: Task, number: int) -> _Case:
        flavour = task.flavours[number % len(task.flavours)]
        while True:
            try:
                return self.make(hidden_sizes.drawn(task, number), flavour)
            except TaskError:
                if not hidden_sizes.draw_again(task, number):
                    raise


def secret_seed() -> int:
    return secrets.randbits(_SEED_BITS)


class HostCaseBook(CaseBook[Case]):
    """Cases that the reference makes, and the judge holds in files in memory."""

    def __init__(self, task: Task, reference: Subject) -> None:
        self._task = task
        self._reference = reference
        super().__init__(task)

    def make(
        self,
        variant: Variant,
        flavour: str,
        seed: int | None = None,
        change: Literal["nothing", "inputs", "state"] = "nothing",
    ) -> Case:
        """A new case. With a known seed, the same again but for new inputs or default state."""
        seed = secret_seed() if seed is None else seed
        request = {
            "do": "case",
            "constants": variant.constants,
            "flavour": flavour,
            "seed": seed,
            "change": change,
        }
        try:
            made, files = self._reference.ask_for_files(request, CaseMade, _MAKE_SECONDS)
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


def _flavours(task: Task) -> list[str]:
    """Of the trials of the shown shape."""
    others = [flavour for flavour in task.flavours if flavour != "plain"]
    missing = _LEAST_TRIALS - len(others) - len(task.hidden)
    return ["plain"] * max(_PLAIN_TRIALS, missing) + others


def _is_continuous(values: npt.NDArray[Any]) -> bool:
    """Not labels, masks or counts kept as floats, which must stay what they are."""
    sample = values.reshape(-1)[:_SAMPLE]
    return bool(np.unique(sample).size > sample.size // 4)


class _Place(NamedTuple):
    """A tensor of the ring, and the tensor of a case that its values come from."""

    target: int
    source: int


class _Scaled(NamedTuple):
    """By which factors the elements of a tensor are scaled now."""

    offset: int
    times: int
    """How often since they were copied from a case."""


class Ring:
    """Inputs for timed calls: one slot a call, every number in them new before every batch.

    Fresh values cost one multiplication, not a draw: after every refresh each element is that of a
    stored case times a new random factor. No content, row or element comes back, shapes stay, and
    since the factors are below 1 so do signs, zeros and upper bounds. Integers, which cannot be
    scaled, get a random block of another case. Runners map the ring read-only; all sides read the
    very same memory.
    """

    def __init__(self, stock: list[Case], slots: int, buffers: tuple[str, ...]) -> None:
        """Buffers stay as they are: a model may keep a copy of its own, which it updates."""
        first = stock[0]
        self._stock = stock
        self._width = len(first.given.layout.tensors) - len(first.state)
        kinds = [(t.dtype, t.shape) for t in first.given.layout.tensors]
        self._layout: Layout = lay_out(kinds[: self._width] * slots + kinds[self._width :])
        self._blob = Blob.ours(self._layout)
        self.slots = slots
        inputs = range(self._width)
        self._places = [
            _Place(slot * self._width + index, index) for slot in range(slots) for index in inputs
        ]
        self._places += [
            _Place(slots * self._width + index - self._width, index)
            for index in range(self._width, len(kinds))
        ]
        for place, source in self._places:
            self._blob.array(place)[...] = first.given.array(source)
        constant = {first.state[name] for name in buffers if name in first.state}
        self._places = [place for place in self._places if place.source not in constant]
        self._scalable = [
            t.dtype in _SCALABLE and _is_continuous(first.given.array(index))
            for index, t in enumerate(first.given.layout.tensors)
        ]
        factors = np.random.default_rng().uniform(0.8, 0.99, 2 * _PERIOD)
        self._factors = factors.astype(np.float32)
        self._scaled: dict[int, _Scaled] = {}

    @property
    def file(self) -> int:
        return self._blob.file

    @property
    def bytes(self) -> int:
        return self._layout.bytes + self._factors.nbytes

    def request(self) -> dict[str, Any]:
        first = self._stock[0]
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
        for place in self._places:
            target = self._blob.array(place.target).reshape(-1)
            if target.size == 0:
                continue
            case = self._stock[int(generator.integers(len(self._stock)))]
            values = case.given.array(place.source).reshape(-1)
            if self._scalable[place.source]:
                self._scale(place, values, target, int(generator.integers(_PERIOD)))
            else:
                length = max(1, int(target.size * generator.uniform(0.2, 0.4)))
                start = int(generator.integers(target.size - length + 1))
                target[start : start + length] = values[start : start + length]

    def _scale(
        self, place: _Place, values: npt.NDArray[Any], target: npt.NDArray[Any], offset: int
    ) -> None:
        """In place, by new factors over the old: the case itself need not be read again."""
        factors = self._factors[offset : offset + _PERIOD]
        before = self._scaled.get(place.target)
        if before is not None and before.times < _AFRESH:
            values = target
            factors = factors / self._factors[before.offset : before.offset + _PERIOD]
            times = before.times + 1
        else:
            times = 0
        self._scaled[place.target] = _Scaled(offset, times)
        for start in range(0, target.size, _PERIOD):
            part = target[start : start + _PERIOD]
            source = values[start : start + _PERIOD]
            np.multiply(source, factors[: part.size], out=part, casting="same_kind")

    def close(self) -> None:
        self._blob.close()
