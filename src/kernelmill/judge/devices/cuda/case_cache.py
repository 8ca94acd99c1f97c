"""Cache of an examiner's cases in device memory, with their expected outputs."""

from typing import NamedTuple

import msgspec
import torch

from kernelmill.judge.cases import IMPRECISE_FACTOR
from kernelmill.judge.devices.cuda.compare import (
    ExpectedTensor,
    make_rounded_budget,
    make_tensor_budget,
)
from kernelmill.judge.devices.cuda.protocol import CaseRequest
from kernelmill.judge.model_loading import outputs_in_float64
from kernelmill.judge.plain_sums import longest_sum
from kernelmill.records.numerics import Numerics
from kernelmill.records.tensors import Node
from kernelmill.tasks.arithmetic import arithmetic
from kernelmill.tasks.module import TaskModule, tensors_in
from kernelmill.tensors.torch_side import describe_value, dtype_name


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
    one too many.
    """

    def __init__(
        self, module: TaskModule, capacity_bytes: int, numerics: Numerics = Numerics.IEEE
    ) -> None:
        self._module = module
        self._numerics = numerics
        self._capacity_bytes = capacity_bytes
        self._cases: dict[bytes, DrawnCase] = {}

    def get(self, request: CaseRequest) -> DrawnCase:
        key = msgspec.json.encode(request)
        if key not in self._cases:
            self._evict()
            self._cases[key] = self._make(request)
        return self._cases[key]

    def drop(self, request: CaseRequest) -> None:
        self._cases.pop(msgspec.json.encode(request), None)

    def _evict(self) -> None:
        """Free memory before a case is made, which takes several times what the case holds."""
        while self._cases and self._bytes() > self._capacity_bytes:
            self._cases.popitem()

    def _bytes(self) -> int:
        return sum(case.bytes for case in self._cases.values())

    def _make(self, request: CaseRequest) -> DrawnCase:
        draw = self._module.draw(request.constants, request.distribution, request.seed)
        inputs: list[torch.Tensor] = []
        node = describe_value(draw.inputs, inputs)
        state = draw.model.state_dict()
        given = [t.detach().clone().contiguous() for t in (*inputs, *state.values())]
        outputs: list[torch.Tensor] = []
        output_node = describe_value(draw.model(*draw.inputs), outputs)
        with arithmetic(Numerics.IEEE, self._module.device.type, afterwards=self._numerics):
            wide = outputs_in_float64(draw.model, draw.inputs, request.distribution)
            ieee = outputs
            if self._numerics is not Numerics.IEEE:
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
