"""The cases an examiner has drawn, with what is expected of them."""

from typing import NamedTuple

import msgspec
import torch

from kernelmill.judge.cuda.compare import Expected, make_budget
from kernelmill.judge.cuda.protocol import CaseRequest
from kernelmill.judge.hosting import outputs_in_float64
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.layout import Node
from kernelmill.tensors.torch_side import describe, dtype_name

_IMPRECISE = 4
"""How much wider the budget is where the reference cannot be computed in float64."""


class DrawnCase(NamedTuple):
    given: list[torch.Tensor]
    """Inputs, then state."""
    inputs: Node
    state: dict[str, int]
    outputs: Node
    expected: list[Expected]

    @property
    def bytes(self) -> int:
        return sum(t.nbytes for t in self.given) + sum(e.bytes for e in self.expected)

    @property
    def kinds(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(dtype_name(t.dtype), tuple(t.shape)) for t in self.given]


class KeptCases:
    """Cases by what they are drawn from. Those there is no room for are made again when asked for.

    Every verdict asks for them in the same order, so who came last is asked for last: that one
    makes room. Did the oldest, a few too many would mean to make all of them for every verdict.
    """

    def __init__(self, module: TaskModule, most_bytes: int) -> None:
        self._module = module
        self._most_bytes = most_bytes
        self._kept: dict[bytes, DrawnCase] = {}

    def get(self, request: CaseRequest) -> DrawnCase:
        key = msgspec.json.encode(request)
        if key not in self._kept:
            self._make_room()
            self._kept[key] = self._make(request)
        return self._kept[key]

    def forget(self, request: CaseRequest) -> None:
        self._kept.pop(msgspec.json.encode(request), None)

    def _make_room(self) -> None:
        """Before: making a case takes several times what it holds."""
        while self._kept and sum(case.bytes for case in self._kept.values()) > self._most_bytes:
            self._kept.popitem()

    def _make(self, request: CaseRequest) -> DrawnCase:
        draw = self._module.draw(request.constants, request.flavour, request.seed)
        inputs: list[torch.Tensor] = []
        node = describe(draw.inputs, inputs)
        state = draw.model.state_dict()
        given = [t.detach().clone().contiguous() for t in (*inputs, *state.values())]
        exact, precise = outputs_in_float64(draw.model, draw.inputs)
        outputs: list[torch.Tensor] = []
        output_node = describe(draw.model(*draw.inputs), outputs)
        tolerance = request.tolerance * (1 if precise else _IMPRECISE)
        expected = [
            Expected(eager.contiguous(), true, make_budget(eager, true, tolerance))
            for eager, true in zip(outputs, exact, strict=True)
        ]
        torch.cuda.empty_cache()
        numbers = {name: len(inputs) + index for index, name in enumerate(state)}
        return DrawnCase(given, node, numbers, output_node, expected)
