"""The program of a runner on the CPU: a sandbox with a candidate or the reference.

Nothing here is trusted once a candidate is loaded: the judge reads outputs from memory itself,
keeps the clock, and trusts no number that a runner sends.
"""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from kernelmill.backends.support.candidate_files import MODEL_MODULE
from kernelmill.judge import heap
from kernelmill.judge.model_loading import (
    CPU,
    compile_model,
    construct_candidate,
    outputs_in_float64,
    set_state,
)
from kernelmill.judge.model_server import GivenTensors, ModelServer
from kernelmill.judge.owned_memory import OwnedMemory
from kernelmill.judge.protocol import CandidateRequest, CaseMade, ReferenceRequest
from kernelmill.judge.threads import end_threads
from kernelmill.records.tensors import Layout, Node
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Done, failure, serve_forks
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.torch_side import (
    TensorView,
    describe_value,
    restore_value,
    write,
)

_TASK = Path("<task>")
_CALLS_BEFORE_FORKS = 8
"""Calls by which a baseline gets warm: Python adapts code that has run a few times."""


def run_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Load a candidate's ModelNew, and serve it in forks. An entry of the zygote.

    It is loaded with one thread: the threads of OpenMP do not survive a fork.
    """
    _prepare(threads=1)
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    try:
        request = msgspec.convert(message.body, CandidateRequest)
        model = construct_candidate(request, message.files, folder)
        # Forks bind other state. If they freed this, outputs would be written to the hole it left.
        constructed = list(model.state_dict().values())
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return

    def serve(own: Channel) -> None:
        torch.set_num_threads(arguments["threads"])
        server = _CpuServer(own, model, folder, constructed)
        server.spoil_memory()
        server.serve()

    heap.close_holes()
    serve_forks(channel, serve)


def run_reference(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Serve a task's Model, and make cases. An entry of the zygote."""
    _prepare(arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        module = TaskModule(request.source, request.scale)
        model = module.draw({}, "plain", request.seed).model
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, _TASK)))
        return
    channel.send(msgspec.to_builtins(Done()))
    runner = _CpuServer(channel, model, _TASK)
    runner.add_command("case", _CaseMaker(module).make)
    runner.serve()


def run_baseline(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Serve a task's Model, eager or compiled, in forks, as a candidate is. An entry of the zygote.

    Unlike a candidate it has been called before: a baseline may be as warm as it gets.
    """
    _prepare(arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        model = _warm_model(request)
        constructed = list(model.state_dict().values())
        end_threads()
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, _TASK)))
        return

    def serve(own: Channel) -> None:
        torch.set_num_threads(arguments["threads"])
        _CpuServer(own, model, _TASK, constructed).serve()

    heap.close_holes()
    serve_forks(channel, serve)


def _prepare(threads: int) -> None:
    if torch.get_num_threads() != threads:  # to set it starts a thread that outlives all regions
        torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    heap.keep_one_heap()


def _warm_model(request: ReferenceRequest) -> nn.Module:
    """The model after some calls with tensors that look like those of timed calls."""
    drawn = TaskModule(request.source, request.scale).draw({}, "plain", request.seed)
    tensors: list[torch.Tensor] = []
    node = describe_value(drawn.inputs, tensors)
    inputs = restore_value(node, [tensor.contiguous() for tensor in tensors])
    state = drawn.model.state_dict()
    set_state(drawn.model, {name: value.contiguous() for name, value in state.items()}, False)
    model = compile_model(drawn.model) if request.compiled else drawn.model
    for _ in range(_CALLS_BEFORE_FORKS):
        model(*inputs)
    return model


class _CpuServer(ModelServer):
    def __init__(
        self,
        channel: Channel,
        model: Any,
        folder: Path,
        constructed: Sequence[torch.Tensor] = (),
    ) -> None:
        """`constructed`: state of the model that is held, whatever is bound in its place."""
        super().__init__(channel, model, folder, CPU)
        self._constructed = constructed
        self._views: list[TensorView] = []
        self._spoils = False
        self._memory: OwnedMemory | None = None

    copies_buffers = False

    def take_tensors(
        self, message: ChannelMessage, layout: Layout, writable: Collection[int]
    ) -> GivenTensors:
        view = TensorView(message.files[0], layout, writable)
        self._views.append(view)
        return GivenTensors(view.tensors, view.address)

    def prepare_memory(self, size: int, calls: int) -> None:
        heap.populate(size, calls)

    def new_memory(self) -> int:
        return heap.new_bytes()

    def spoil_memory(self) -> None:
        """From now on let no call of the model find what another has left in memory of it."""
        self._spoils = True

    def before_trial(self) -> None:
        if self._spoils and self._memory is None:
            self._memory = OwnedMemory(self._model, sys.modules[MODEL_MODULE])
        if self._memory is not None:
            state = self._model.state_dict(keep_vars=True).values()
            self._memory.remember({tensor.data_ptr() for tensor in state})

    def after_trial(self) -> bool:
        return self._memory is not None and self._memory.spoil()

    def drop_tensors(self) -> None:
        while len(self._views) > 1:
            self._views.pop(0).close()


class _CaseMaker:
    def __init__(self, module: TaskModule) -> None:
        self._module = module

    def make(self, message: ChannelMessage) -> tuple[CaseMade, tuple[int, ...]]:
        body = message.body
        draw = self._module.draw(
            body["constants"], body["distribution"], body["seed"], body["change"]
        )
        inputs: list[torch.Tensor] = []
        node = describe_value(draw.inputs, inputs)
        state = draw.model.state_dict()
        given = write([*inputs, *state.values()])
        wide = outputs_in_float64(draw.model, draw.inputs, body["distribution"])
        outputs: list[torch.Tensor] = []
        before = {name: buffer.clone() for name, buffer in draw.model.named_buffers()}
        output_node: Node = describe_value(draw.model(*draw.inputs), outputs)
        expected = write([*outputs, *wide.tensors])
        made = CaseMade(
            inputs=node,
            layout=given.layout,
            state={name: len(inputs) + index for index, name in enumerate(state)},
            outputs=output_node,
            expected=expected.layout,
            precise=wide.precise,
            conditioning=wide.conditioning,
            strides=[output.stride() for output in outputs],
            overlapping=[number for number, output in enumerate(outputs) if _overlaps(output)],
            updated=[
                name for name, buffer in draw.model.named_buffers()
                if not torch.equal(_raw(buffer), _raw(before[name]))
            ],
        )  # fmt: skip
        return made, (given.file, expected.file)


def _overlaps(output: torch.Tensor) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(output.stride(), output.shape, strict=True))


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def make_init_arguments(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Answer with the constructor arguments of a task's Model. An entry of the zygote."""
    torch.set_grad_enabled(False)
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    tensors: list[torch.Tensor] = []
    torch.manual_seed(request.seed)
    node = describe_value(TaskModule(request.source, request.scale).init_arguments(), tensors)
    written = write(tensors)
    body = {"arguments": msgspec.to_builtins(node), "layout": msgspec.to_builtins(written.layout)}
    channel.send(body, (written.file,))
