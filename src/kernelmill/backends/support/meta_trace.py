"""Trace of a candidate's forward on meta tensors, which have no values. Runs inside sandboxes only.

Without values forward cannot compute anything itself: all that leaves it are the buffers it
allocates and the kernels it launches. Needs torch, under the Python of a tool chain.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import msgspec
import torch
import torch._dynamo  # the first guarded operator imports it: once for all forks, not in each
from torch.utils._python_dispatch import TorchDispatchMode

from kernelmill.backends.support.candidate_files import import_model, write_sources
from kernelmill.backends.support.launch_log import (
    Buffer,
    CallTraceRequest,
    Output,
    Trace,
    TracerLoadRequest,
)
from kernelmill.records.task import TensorSpec
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.confine import make_read_only
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tensors.torch_side import describe_value, dtype_name, restore_value

_VIEWS = frozenset(
    """_reshape_alias _unsafe_view alias as_strided detach expand narrow permute reshape select
    slice squeeze t transpose unbind unflatten unsqueeze view split split_with_sizes movedim
    lift_fresh""".split()
)
_ALLOCATIONS = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
_ZEROS = frozenset("zeros zeros_like new_zeros".split())


class ForbiddenCall(Exception):
    """The candidate does something that is forbidden; the message says what."""


def serve_traces(channel: Channel, scratch: str, tracer: "Tracer") -> None:
    """The main loop of a tracing program: load the candidate, then trace calls of it."""
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    try:
        model = _load(msgspec.convert(message.body, TracerLoadRequest), folder, scratch)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send({})

    def trace(request: ChannelMessage) -> tuple[Any, tuple[int, ...]]:
        return tracer.trace(model, msgspec.convert(request.body["call"], CallTraceRequest)), ()

    server = Server(channel, folder)
    server.add_command("trace", trace)
    server.serve()


def _load(request: TracerLoadRequest, folder: Path, scratch: str) -> torch.nn.Module:
    write_sources(request.sources, folder)
    make_read_only(str(folder), (scratch,))
    module = import_model(folder)
    if not hasattr(module, "ModelNew"):
        raise ForbiddenCall("model.py does not define ModelNew")
    with torch.device("meta"):
        tensors = [_empty(spec) for spec in request.init_tensors]
        model = module.ModelNew(*restore_value(request.init_arguments, tensors))
    assert isinstance(model, torch.nn.Module)
    return model


def _empty(spec: TensorSpec) -> torch.Tensor:
    return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype), device="meta")


class Tracer(ABC):
    """The buffers of a call: its tensors first, then what forward allocates."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self._storages: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []
        """Keeps tensors from being freed while tracing: storages are told apart by address."""

    @abstractmethod
    def trace(self, model: torch.nn.Module, request: CallTraceRequest) -> Trace:
        """The trace that a backend's engine executes for this call."""

    def run(self, model: torch.nn.Module, request: CallTraceRequest) -> list[Output]:
        """Call forward once. Returns the places of the tensors that it returned."""
        self.buffers, self._storages, self._alive = [], {}, []
        tensors = [_empty(spec) for spec in request.tensors]
        for tensor in tensors:
            self.buffer(tensor)
        _set_state(model, {name: tensors[index] for name, index in request.state.items()})
        with torch.no_grad(), _OperatorGuard(self):
            result = model.forward(*restore_value(request.inputs, tensors))
        returned: list[torch.Tensor] = []
        describe_value(result, returned)
        return [self.place(tensor) for tensor in returned]

    def buffer(self, tensor: torch.Tensor) -> int:
        """The number of the buffer that a tensor lies in."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address not in self._storages:
            self._alive.append(tensor)
            self._storages[address] = len(self.buffers)
            count = storage.nbytes() // tensor.element_size()
            self.buffers.append(Buffer(dtype_name(tensor.dtype), count))
        return self._storages[address]

    def place(self, tensor: torch.Tensor) -> Output:
        return Output(
            self.buffer(tensor), int(tensor.storage_offset()), dtype_name(tensor.dtype),
            tuple(tensor.shape), tuple(tensor.stride()),
        )  # fmt: skip


class _OperatorGuard(TorchDispatchMode):
    """Lets forward allocate and view tensors, and refuses every other operator."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tracer = tracer

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.overloadpacket.__name__
        if name not in _VIEWS | _ALLOCATIONS | _ZEROS:
            raise ForbiddenCall(f"forward computes with the framework: {name}")
        result = function(*args, **{**(kwargs or {}), **_on_meta(function)})
        if name in _ALLOCATIONS | _ZEROS:
            self._tracer.buffers[self._tracer.buffer(result)].zeroed = name in _ZEROS
        return result


def _on_meta(function: Any) -> dict[str, Any]:
    """The argument that allocates without values, for operators that take a device."""
    takes_device = any(argument.name == "device" for argument in function._schema.arguments)
    return {"device": torch.device("meta")} if takes_device else {}


def _set_state(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> None:
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if own != wanted:
        different = sorted(set(own.items()) ^ set(wanted.items()))
        raise ForbiddenCall(
            "ModelNew must have the reference's parameter and buffer names and shapes; "
            f"different: {', '.join(f'{name} {list(shape)}' for name, shape in different[:4])}"
        )
    for name, tensor in model.state_dict(keep_vars=True).items():
        try:
            tensor.data = state[name]  # the same object: the model may have kept it elsewhere
        except RuntimeError as error:
            raise ForbiddenCall(f"{name} is {tensor.dtype}, not {state[name].dtype}") from error
