"""The program of a runner: holds a candidate (or the reference) and answers the judge.

Runs inside a cell. Nothing here is trusted once a candidate is loaded: the judge takes outputs
from memory itself, keeps the clock, and believes no number a runner sends.
"""

import ctypes
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import torch

from kernelmill.judge.hosting import (
    compiled,
    load_candidate,
    outputs_in_float64,
    pointers,
    set_state,
)
from kernelmill.judge.protocol import (
    BatchDone,
    CaseMade,
    Done,
    LoadRequest,
    OutputTensor,
    ReferenceRequest,
    RingRequest,
    TrialDone,
    TrialRequest,
)
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tasks.module import TaskModule
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tensors.layout import Layout, Node
from kernelmill.tensors.torch_side import View, describe, dtype_name, restore, write

_M_MMAP_MAX, _M_TRIM_THRESHOLD = -4, -1


def run_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: a candidate's ModelNew."""
    _prepare(arguments["threads"])
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    try:
        model = load_candidate(msgspec.convert(message.body, LoadRequest), message.files, folder)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send(msgspec.to_builtins(Done()))
    _Runner(channel, model, str(folder)).serve()


def run_reference(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry: a task's Model, eager or compiled; also makes the cases."""
    _prepare(arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        module = TaskModule(request.source, request.scale)
        model = module.draw({}, "plain", request.seed).model
        if request.compiled:
            model = compiled(model)
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    runner = _Runner(channel, model, "<task>")
    runner.also("case", _CaseMaker(module).make)
    runner.serve()


def _prepare(threads: int) -> None:
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    # Memory comes from one heap that is never given back: no page faults inside the clock for
    # either side, and what was freed (and poisoned) is what the next allocation gets.
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_MMAP_MAX, 0)
    libc.mallopt(_M_TRIM_THRESHOLD, -1)


class _Runner(Server):
    def __init__(self, channel: Channel, model: Any, folder: str) -> None:
        super().__init__(channel, Path(folder))
        self._model = model
        self._held: Any = None
        self._view: View | None = None
        self._slots: list[list[Any]] = []
        self.also("trial", self._trial)
        self.also("ring", self._ring)
        self.also("batch", self._batch)

    def _trial(self, message: Message) -> tuple[TrialDone, tuple[int, ...]]:
        request = msgspec.convert(message.body, TrialRequest)
        view = self._bind(message.files[0], request.layout, request.state, shared=False)
        inputs = restore(request.inputs, view.tensors)
        _poison(request.poison)
        calls = OperatorLog()
        with calls if request.watched else nullcontext():
            self._held = self._model(*inputs)
        tensors: list[torch.Tensor] = []
        node = describe(self._held, tensors)
        done = TrialDone(
            outputs=node,
            tensors=[_output(tensor) for tensor in tensors],
            inputs_at=view.address,
            framework_calls=list(calls.names),
        )
        return done, ()

    def _ring(self, message: Message) -> tuple[Done, tuple[int, ...]]:
        request = msgspec.convert(message.body, RingRequest)
        view = self._bind(message.files[0], request.layout, request.state, shared=True)
        width = request.slot_width
        self._slots = [
            restore(request.inputs, view.tensors[slot * width : (slot + 1) * width])
            for slot in range(request.slots)
        ]
        return Done(), ()

    def _batch(self, message: Message) -> tuple[BatchDone, tuple[int, ...]]:
        self._held = None
        model = self._model
        self._held = [model(*slot) for slot in self._slots[: message.body["calls"]]]
        return BatchDone([pointers(value) for value in self._held]), ()

    def _bind(self, file: int, layout: Layout, state: dict[str, int], shared: bool) -> View:
        """Map the tensors and make the state part of them the model's state."""
        self._held, self._slots = None, []
        view = View(file, layout, shared)
        set_state(self._model, {name: view.tensors[index] for name, index in state.items()})
        if self._view is not None:
            self._view.close()
        self._view = view
        return view


def _poison(outputs: list[tuple[str, tuple[int, ...]]]) -> None:
    """Fill and free memory of the outputs' sizes, so that what is not written shows."""
    for dtype_text, shape in outputs:
        dtype = getattr(torch, dtype_text)
        torch.full(shape, float("nan") if dtype.is_floating_point else 113, dtype=dtype)


def _output(tensor: torch.Tensor) -> OutputTensor:
    plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided
    if not plain or tensor.device.type != "cpu":
        raise TypeError(f"an output is a {type(tensor).__name__} on {tensor.device}, not a Tensor")
    return OutputTensor(
        dtype=dtype_name(tensor.dtype),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        address=tensor.data_ptr(),
    )


class _CaseMaker:
    def __init__(self, module: TaskModule) -> None:
        self._module = module

    def make(self, message: Message) -> tuple[CaseMade, tuple[int, ...]]:
        body = message.body
        draw = self._module.draw(body["constants"], body["flavour"], body["seed"], body["change"])
        inputs: list[torch.Tensor] = []
        node = describe(draw.inputs, inputs)
        state = draw.model.state_dict()
        given = write([*inputs, *state.values()])
        exact, precise = outputs_in_float64(draw.model, draw.inputs)
        outputs: list[torch.Tensor] = []
        output_node: Node = describe(draw.model(*draw.inputs), outputs)
        expected = write([*outputs, *exact])
        made = CaseMade(
            inputs=node,
            layout=given.layout,
            state={name: len(inputs) + index for index, name in enumerate(state)},
            outputs=output_node,
            expected=expected.layout,
            precise=precise,
        )
        return made, (given.file, expected.file)


def make_init_arguments(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry: the constructor arguments of a task's Model."""
    torch.set_grad_enabled(False)
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    tensors: list[torch.Tensor] = []
    torch.manual_seed(request.seed)
    node = describe(TaskModule(request.source, request.scale).init_arguments(), tensors)
    written = write(tensors)
    body = {"arguments": msgspec.to_builtins(node), "layout": msgspec.to_builtins(written.layout)}
    channel.send(body, (written.file,))
