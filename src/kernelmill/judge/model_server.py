"""The commands that every runner answers: a trial, the input ring, a timed batch.

Used inside sandboxes only. A device kind says where the given tensors lie and how to wait for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch

from kernelmill.judge.model_loading import pointers, set_state
from kernelmill.judge.protocol import (
    BatchDone,
    OutputTensor,
    RingRequest,
    TrialDone,
    TrialRequest,
    WarmUpRequest,
)
from kernelmill.records.tensors import Layout
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Done, Server
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tensors.torch_side import describe_value, dtype_name, restore_value

_POISON = 113
"""What memory of integer outputs is filled with; of floating ones it is NaN."""


class GivenTensors(NamedTuple):
    """Inputs and state as the judge gives them."""

    tensors: list[torch.Tensor]
    address: int = 0
    """Where they begin, for a judge that reads them back; 0 where it has its own mapping."""


class _Binding(NamedTuple):
    """A parameter or buffer of the model, and the memory that it has in one slot."""

    parameter: torch.Tensor
    value: torch.Tensor


class Slot(NamedTuple):
    """What one timed call is made with."""

    inputs: list[Any]
    bindings: list[_Binding]


class ModelServer(Server, ABC):
    """Serves one model, a candidate or a reference, on one device."""

    def __init__(self, channel: Channel, model: Any, folder: Path, device: torch.device) -> None:
        super().__init__(channel, folder)
        self._model = model
        self._device = device
        self._held: Any = None
        self._warm: Any = None
        self._slots: list[Slot] = []
        self._strides: list[tuple[int, ...]] = []
        self._is_spoiled = False
        self.add_command("trial", self._trial)
        self.add_command("ring", self._ring)
        self.add_command("warm up", self._warm_up)
        self.add_command("batch", self._batch)

    copies_buffers = True
    """Whether models get copies of the buffers, where they could not write to those given."""

    @abstractmethod
    def take_tensors(
        self, message: ChannelMessage, layout: Layout, writable: Collection[int]
    ) -> GivenTensors:
        """The tensors that a request speaks of; `writable` are those that the model may spoil."""

    def drop_tensors(self) -> None:
        """Give up the tensors of the request before: nothing of the model lies there any more."""

    def synchronise(self) -> None:
        """Wait until the device has finished."""

    def before_trial(self) -> None:
        """Note what the memory of the model holds, which outlives its calls."""

    def after_trial(self) -> bool:
        """Change what the call has left in that memory. Returns whether anything was changed."""
        return False

    def prepare_memory(self, size: int, calls: int) -> None:
        """Have memory of this size ready for each of so many calls."""

    def new_memory(self) -> int:
        """Bytes that the process had to get from the system so far."""
        return 0

    def _trial(self, message: ChannelMessage) -> tuple[TrialDone, tuple[int, ...]]:
        request = msgspec.convert(message.body, TrialRequest)
        every = range(len(request.layout.tensors))
        given = self._bind(message, request, request.state, writable=every)
        inputs = restore_value(request.inputs, given.tensors)
        self._poison(request.poison)
        if request.threads:
            torch.set_num_threads(request.threads)
        if request.spoiling:
            self.before_trial()
        calls = OperatorLog()
        with calls if request.watched else nullcontext():
            self._held = self._model(*inputs)
        self.synchronise()
        tensors: list[torch.Tensor] = []
        node = describe_value(self._held, tensors)
        done = TrialDone(
            outputs=node,
            tensors=[self._output(tensor) for tensor in tensors],
            inputs_at=given.address,
            framework_calls=list(calls.names),
            spoiled=self._is_spoiled,
        )
        if request.spoiling:
            self._is_spoiled |= self.after_trial()
        return done, ()

    def _ring(self, message: ChannelMessage) -> tuple[Done, tuple[int, ...]]:
        request = msgspec.convert(message.body, RingRequest)
        all_state = {**request.state, **request.parameters, **request.buffers}
        writable = [
            slot * request.slot_width + request.buffers[name]
            for slot in range(request.slots)
            for name in request.updated
        ]
        tensors = self._bind(message, request, all_state, writable).tensors
        self._slots = [self._slot(request, tensors, number) for number in range(request.slots)]
        self._strides = request.strides
        return Done(), ()

    def _slot(self, request: RingRequest, tensors: list[torch.Tensor], number: int) -> Slot:
        start = number * request.slot_width
        indices = {**request.parameters, **request.buffers}
        own = self._model.state_dict(keep_vars=True) if indices else {}
        return Slot(
            restore_value(request.inputs, tensors[start : start + request.slot_width]),
            [_Binding(own[name], tensors[start + index]) for name, index in indices.items()],
        )

    def _warm_up(self, message: ChannelMessage) -> tuple[BatchDone, tuple[int, ...]]:
        request = msgspec.convert(message.body, WarmUpRequest)
        self._held = self._warm = None
        self.prepare_memory(request.output_bytes, request.calls + 1)
        before = self.new_memory()
        self._warm = self.call(self._slots[request.slot])
        self.synchronise()
        self.prepare_memory(self.new_memory() - before, request.calls)
        return BatchDone([pointers(self._warm)]), ()

    def _batch(self, message: ChannelMessage) -> tuple[BatchDone, tuple[int, ...]]:
        self._held = None
        self._held = [self.call(slot) for slot in self._slots[: message.body["calls"]]]
        self.synchronise()
        return BatchDone([pointers(value) for value in self._held]), ()

    def call(self, slot: Slot) -> Any:
        value = self._model(*self.bind(slot))
        return self._delivered(value) if self._strides else value

    def _delivered(self, value: Any) -> Any:
        """The outputs in memory as the reference has them: to turn them is work like any other."""
        if isinstance(value, torch.Tensor):  # without what the general case costs inside the clock
            return value if value.stride() == self._strides[0] else value.contiguous()
        tensors: list[torch.Tensor] = []
        node = describe_value(value, tensors)
        if len(tensors) != len(self._strides):
            return value
        wanted = zip(tensors, self._strides, strict=True)
        return restore_value(node, [t if t.stride() == s else t.contiguous() for t, s in wanted])

    def bind(self, slot: Slot) -> list[Any]:
        """Give parameters and buffers their memory in this slot. Returns the inputs."""
        for parameter, value in slot.bindings:
            parameter.data = value
        return slot.inputs

    def _bind(
        self,
        message: ChannelMessage,
        request: TrialRequest | RingRequest,
        indices: dict[str, int],
        writable: Collection[int],
    ) -> GivenTensors:
        """Take the given tensors, and bind the state among them to the model."""
        self._held, self._slots = None, []
        given = self.take_tensors(message, request.layout, writable)
        values = {name: given.tensors[index] for name, index in indices.items()}
        set_state(self._model, values, self.copies_buffers)
        self.drop_tensors()
        return given

    def _poison(self, outputs: list[tuple[str, tuple[int, ...]]]) -> None:
        """Fill memory of the outputs' sizes with rubbish and free it, so that outputs which are
        not written are wrong."""
        for dtype_text, shape in outputs:
            dtype = getattr(torch, dtype_text)
            rubbish = float("nan") if dtype.is_floating_point else _POISON
            torch.full(shape, rubbish, dtype=dtype, device=self._device)

    def _output(self, tensor: torch.Tensor) -> OutputTensor:
        plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided
        if not plain or tensor.device.type != self._device.type:
            found = f"a {type(tensor).__name__} on {tensor.device}"
            raise TypeError(f"an output is {found}, not a Tensor on {self._device.type}")
        return OutputTensor(
            dtype=dtype_name(tensor.dtype),
            shape=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
            address=tensor.data_ptr(),
        )
