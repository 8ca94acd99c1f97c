"""A candidate's forward on tensors that have shapes and no values. Runs inside cells only.

What forward computes by itself, it computes from nothing: all that leaves it are the buffers it
allocates and the kernels it launches. Needs torch, under the Python of a tool chain.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelmill.backends.candidate_files import import_model, write_sources
from kernelmill.backends.launches import Buffer, LoadRequest, Output, Trace, TraceRequest
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.confine import make_read_only
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tasks.task import Kind
from kernelmill.tensors.torch_side import describe, dtype_name, restore

_VIEWS = frozenset(
    """_reshape_alias _unsafe_view alias as_strided detach expand narrow permute reshape select
    slice squeeze t transpose unbind unflatten unsqueeze view split split_with_sizes movedim
    lift_fresh""".split()
)
_ALLOCATIONS = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
_ZEROS = frozenset("zeros zeros_like new_zeros".split())


class Misuse(Exception):
    """The candidate does what a candidate may not; the message says what."""


def serve_traces(channel: Channel, scratch: str, tracer: "Tracer") -> None:
    """The whole of a tracing program: load the candidate, then trace calls of it."""
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    try:
        model = _load(msgspec.convert(message.body, LoadRequest), folder, scratch)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send({})

    def trace(asked: Message) -> tuple[Any, tuple[int, ...]]:
        return tracer.trace(model, msgspec.convert(asked.body["call"], TraceRequest)), ()

    server = Server(channel, folder)
    server.also("trace", trace)
    server.serve()


def _load(request: LoadRequest, folder: Path, scratch: str) -> torch.nn.Module:
    write_sources(request.sources, folder)
    make_read_only(str(folder), (scratch,))
    module = import_model(folder)
    if not hasattr(module, "ModelNew"):
        raise Misuse("model.py does not define ModelNew")
    with torch.device("meta"):
        tensors = [_empty(kind) for kind in request.init_tensors]
        model = module.ModelNew(*restore(request.init_arguments, tensors))
    assert isinstance(model, torch.nn.Module)
    return model


def _empty(kind: Kind) -> torch.Tensor:
    return torch.empty(kind.shape, dtype=getattr(torch, kind.dtype), device="meta")


class Tracer(ABC):
    """Knows the buffers of a call: its tensors first, then what forward allocates."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self._storages: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []
        """Storages are told apart by address: none may be freed while tracing."""

    @abstractmethod
    def trace(self, model: torch.nn.Module, request: TraceRequest) -> Trace:
        """What a backend's engine is to do for this call."""

    def run(self, model: torch.nn.Module, request: TraceRequest) -> list[Output]:
        """One call of forward; where the tensors lie that it returned."""
        self.buffers, self._storages, self._alive = [], {}, []
        tensors = [_empty(kind) for kind in request.tensors]
        for tensor in tensors:
            self.buffer(tensor)
        _give_state(model, {name: tensors[index] for name, index in request.state.items()})
        with torch.no_grad(), _Watch(self):
            result = model.forward(*restore(request.inputs, tensors))
        returned: list[torch.Tensor] = []
        describe(result, returned)
        return [self.place(tensor) for tensor in returned]

    def buffer(self, tensor: torch.Tensor) -> int:
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


class _Watch(TorchDispatchMode):
    """Sees every operator that forward calls by itself."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tracer = tracer

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.overloadpacket.__name__
        if name not in _VIEWS | _ALLOCATIONS | _ZEROS:
            raise Misuse(f"forward computes with the framework: {name}")
        result = function(*args, **{**(kwargs or {}), **_on_meta(function)})
        if name in _ALLOCATIONS | _ZEROS:
            self._tracer.buffers[self._tracer.buffer(result)].zeroed = name in _ZEROS
        return result


def _on_meta(function: Any) -> dict[str, Any]:
    """Whatever is allocated has no values either."""
    takes_device = any(argument.name == "device" for argument in function._schema.arguments)
    return {"device": torch.device("meta")} if takes_device else {}


def _give_state(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> None:
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if own != wanted:
        different = sorted(set(own.items()) ^ set(wanted.items()))
        raise Misuse(
            "ModelNew must have the reference's parameter and buffer names and shapes; "
            f"different: {', '.join(f'{name} {list(shape)}' for name, shape in different[:4])}"
        )
    model.load_state_dict(state, assign=True)
