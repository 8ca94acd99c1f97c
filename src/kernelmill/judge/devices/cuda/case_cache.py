"""Cache of an examiner's cases in device memory, with their expected outputs."""

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec
import torch

from kernelmill.judge.cases import IMPRECISE_FACTOR
from kernelmill.judge.compare import ErrorBudget
from kernelmill.judge.devices.cuda.compare import (
    ExpectedTensor,
    make_rounded_budget,
    make_tensor_budget,
)
from kernelmill.judge.devices.cuda.footprint import may_round
from kernelmill.judge.devices.cuda.protocol import CaseRequest
from kernelmill.judge.model_loading import outputs_in_float64
from kernelmill.judge.plain_sums import longest_sum
from kernelmill.records.numerics import Numerics
from kernelmill.records.tensors import Node
from kernelmill.tasks.arithmetic import arithmetic
from kernelmill.tasks.module import TaskModule, tensors_in
from kernelmill.tensors.torch_side import describe_value, dtype_name

_PAUSES = (0.0, 1.0, 4.0)
"""Seconds before another try where the device has no room: a process that was killed may hold
memory for a moment."""
_Result = TypeVar("_Result")


class DrawnCase(NamedTuple):
    """A case in device memory."""

    given: list[torch.Tensor]
    """Inputs, then state."""
    inputs: Node
    state: dict[str, int]
    outputs: Node
    expected: list[ExpectedTensor]

    @property
    def bytes(self) -> int:
        return sum(t.nbytes for t in self.given) + sum(e.bytes for e in self.expected)

    @property
    def given_specs(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(dtype_name(t.dtype), tuple(t.shape)) for t in self.given]


class CaseCache:
    """Cases by request. Cases that do not fit are made again when they are asked for.

    Every verdict asks for the cases in the same order. So the newest case is evicted: it is asked
    for last. Evicting the oldest would make all cases again for every verdict as soon as there is
    one too many. Error budgets take no room, and are never evicted.
    """

    def __init__(
        self, module: TaskModule, capacity_bytes: int, numerics: Numerics = Numerics.IEEE
    ) -> None:
        self._module = module
        self._numerics = numerics
        self._capacity_bytes = capacity_bytes
        self._cases: dict[bytes, DrawnCase] = {}
        self._budgets: dict[bytes, list[ErrorBudget]] = {}

    def get(self, request: CaseRequest) -> DrawnCase:
        key = msgspec.json.encode(request)
        if key not in self._cases:
            self._evict(self._capacity_bytes)
            self._cases[key] = case = with_room(lambda: self._make(request), self._cases.clear)
            self._budgets[key] = [expected.budget for expected in case.expected]
        return self._cases[key]

    def budgets(self, request: CaseRequest) -> list[ErrorBudget]:
        """The error budgets of a case's outputs."""
        key = msgspec.json.encode(request)
        if key not in self._budgets:
            self.get(request)
        return self._budgets[key]

    def drop(self, request: CaseRequest) -> None:
        key = msgspec.json.encode(request)
        self._cases.pop(key, None)
        self._budgets.pop(key, None)

    def rest(self, most_bytes: int) -> None:
        """Keep no more than this, and give back the memory of the others."""
        self._evict(most_bytes)
        torch.cuda.empty_cache()

    def _evict(self, most_bytes: int) -> None:
        """Free memory before a case is made, which takes several times what the case holds."""
        while self._cases and self._bytes() > most_bytes:
            self._cases.popitem()

    def _bytes(self) -> int:
        return sum(case.bytes for case in self._cases.values())

    def _make(self, request: CaseRequest) -> DrawnCase:
        draw = self._module.draw(request.constants, request.distribution, request.seed)
        inputs: list[torch.Tensor] = []
        node = describe_value(draw.inputs, inputs)
        state = draw.model.state_dict()
        # A call changes no inputs (that is examined), but it may change buffers.
        given = [t.detach().contiguous() for t in inputs]
        given += [t.detach().clone().contiguous() for t in state.values()]
        outputs: list[torch.Tensor] = []
        output_node = describe_value(draw.model(*draw.inputs), outputs)
        with arithmetic(Numerics.IEEE, self._module.device.type, afterwards=self._numerics):
            wide = outputs_in_float64(draw.model, draw.inputs, request.distribution)
            ieee = outputs
            if self._numerics is not Numerics.IEEE and may_round(request.signature):
                ieee = tensors_in(draw.model(*draw.inputs))
        tolerance = request.tolerance * (1 if wide.precise else IMPRECISE_FACTOR)
        longest = longest_sum(request.signature, (tuple(t.shape) for t in given))
        expected = []
        for eager, float32, exact, conditioning in zip(
            outputs, ieee, wide.tensors, wide.conditioning, strict=True
        ):
            budget = make_tensor_budget(float32, exact, tolerance, longest, conditioning)
            if float32 is not eager:
                budget = budget.or_more(make_rounded_budget(eager, exact))
            expected.append(ExpectedTensor(eager.contiguous(), exact, budget))
        torch.cuda.empty_cache()
        indices = {name: len(inputs) + index for index, name in enumerate(state)}
        return DrawnCase(given, node, indices, output_node, expected)


def with_room(make: Callable[[], _Result], give_up: Callable[[], None]) -> _Result:
    """What `make` makes. Where memory does not suffice, what can be done without is given up."""
    for pause in _PAUSES:
        try:
            return make()
        except torch.OutOfMemoryError:
            give_up()
        # The exception held what was made so far.
        torch.cuda.empty_cache()
        time.sleep(pause)
    return make()
