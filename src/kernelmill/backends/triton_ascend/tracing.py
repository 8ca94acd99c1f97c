"""Traces a candidate: its Python runs here, and nothing of it leaves but the launches it makes.

Its tensors have shapes and no values: what forward computes by itself, it computes from nothing.
Runs inside a cell, under the Python of the tool chain.
"""

import importlib.util
import math
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton._C.libtriton import ir
from triton.backends.ascend import compiler as ascend
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from kernelmill.backends.triton_ascend.protocol import (
    Argument,
    Buffer,
    KernelLaunch,
    LoadRequest,
    Output,
    Traced,
    TraceRequest,
)
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.confine import make_read_only
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tasks.task import Kind
from kernelmill.tensors.torch_side import describe, dtype_name, restore

_TYPES = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.bool: "i1",
    torch.uint8: "u8",
}  # fmt: skip
_VIEWS = frozenset(
    """_reshape_alias _unsafe_view alias as_strided detach expand narrow permute reshape select
    slice squeeze t transpose unbind unflatten unsqueeze view split split_with_sizes movedim
    lift_fresh""".split()
)
_ALLOCATIONS = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
_ZEROS = frozenset("zeros zeros_like new_zeros".split())
_HINTS = ("num_warps", "num_stages", "num_ctas", "multibuffer")
"""Keywords of a launch that are not the kernel's."""
_LARGEST_INT32 = 2**31 - 1


class Misuse(Exception):
    """The candidate does what a candidate may not; the message says what to do instead."""


def trace_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    os.environ["TRITON_CACHE_DIR"] = f"{scratch}/triton"
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    recorder = _Recorder(arguments["chip"])
    try:
        model = _load(msgspec.convert(message.body, LoadRequest), folder, scratch)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send({})
    server = Server(channel, folder)
    server.also("trace", lambda request: (recorder.trace(model, request), ()))
    server.serve()


def _load(request: LoadRequest, folder: Path, scratch: str) -> torch.nn.Module:
    """Write its files, construct its ModelNew on tensors without values."""
    folder.mkdir()
    for name, text in request.sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    make_read_only(str(folder), (scratch,))
    spec = importlib.util.spec_from_file_location("candidate_model", folder / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "ModelNew"):
        raise Misuse("model.py does not define ModelNew")
    with torch.device("meta"):
        tensors = [_empty(kind) for kind in request.init_tensors]
        model = module.ModelNew(*restore(request.init_arguments, tensors))
    assert isinstance(model, torch.nn.Module)
    return model


def _empty(kind: Kind) -> torch.Tensor:
    return torch.empty(kind.shape, dtype=getattr(torch, kind.dtype), device="meta")


class _Recorder:
    """Takes the place of Triton's launcher, and notes what would be launched."""

    def __init__(self, chip: str) -> None:
        self._lowering = _Lowering(chip)
        self._kernels: list[str] = []
        self._launches: list[KernelLaunch] = []
        self._buffers: list[Buffer] = []
        self._storages: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []
        """Storages are told apart by address: none may be freed while tracing."""

        def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> None:
            self.launch(kernel, arguments, grid, named)

        JITFunction.run = run

    def trace(self, model: torch.nn.Module, message: Message) -> Traced:
        request = msgspec.convert(message.body["call"], TraceRequest)
        self._kernels, self._launches, self._buffers = [], [], []
        self._storages, self._alive = {}, []
        tensors = [_empty(kind) for kind in request.tensors]
        for tensor in tensors:
            self._buffer(tensor)
        _give_state(model, {name: tensors[index] for name, index in request.state.items()})
        with torch.no_grad(), _Watch(self):
            result = model.forward(*restore(request.inputs, tensors))
        returned: list[torch.Tensor] = []
        describe(result, returned)
        return Traced(
            self._kernels, self._launches, self._buffers, [self._output(t) for t in returned]
        )

    def launch(
        self, kernel: Any, arguments: tuple[Any, ...], grid: Any, named: dict[str, Any]
    ) -> None:
        own = {name: value for name, value in named.items() if name not in _HINTS}
        bound = kernel.signature.bind(*arguments, **own)
        bound.apply_defaults()
        constants = {
            parameter.name: bound.arguments[parameter.name]
            for parameter in kernel.params
            if parameter.is_constexpr
        }
        given = {name: v for name, v in bound.arguments.items() if name not in constants}
        sizes = grid(dict(bound.arguments)) if callable(grid) else grid
        x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
        if min(x, y, z) < 1:
            raise Misuse(f"{kernel.__name__} is launched on a grid of {x} x {y} x {z} programs")
        signature = {name: _signature(value) for name, value in given.items()}
        text = self._lowering.lower(kernel, signature, constants)
        if text not in self._kernels:
            self._kernels.append(text)
        self._launches.append(
            KernelLaunch(
                self._kernels.index(text), (x, y, z), [self._argument(v) for v in given.values()]
            )
        )

    def allocated(self, tensor: torch.Tensor, zeroed: bool) -> None:
        self._buffers[self._buffer(tensor)].zeroed = zeroed

    def _buffer(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address not in self._storages:
            self._alive.append(tensor)
            self._storages[address] = len(self._buffers)
            count = storage.nbytes() // tensor.element_size()
            self._buffers.append(Buffer(dtype_name(tensor.dtype), count))
        return self._storages[address]

    def _argument(self, value: Any) -> Argument:
        if isinstance(value, torch.Tensor):
            return Argument(buffer=self._buffer(value), offset=int(value.storage_offset()))
        return Argument(number=value)

    def _output(self, tensor: torch.Tensor) -> Output:
        return Output(
            self._buffer(tensor), int(tensor.storage_offset()), dtype_name(tensor.dtype),
            tuple(tensor.shape), tuple(tensor.stride()),
        )  # fmt: skip


class _Watch(TorchDispatchMode):
    """Sees every operator that forward calls by itself."""

    def __init__(self, recorder: _Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.overloadpacket.__name__
        if name not in _VIEWS | _ALLOCATIONS | _ZEROS:
            raise Misuse(f"forward computes with the framework: {name}")
        result = function(*args, **{**(kwargs or {}), **_on_meta(function)})
        if name in _ALLOCATIONS | _ZEROS:
            self._recorder.allocated(result, name in _ZEROS)
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


def _signature(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"*{_TYPES[value.dtype]}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if abs(value) <= _LARGEST_INT32 else "i64"
    if isinstance(value, float) and not math.isnan(value):
        return "fp32"
    raise Misuse(f"a kernel takes tensors and numbers, not {value!r:.60}")


class _Lowering:
    """Triton's own part of the way: from Python to its intermediate form."""

    def __init__(self, chip: str) -> None:
        self._target = GPUTarget("npu", chip, 0)
        self._backend = ascend.AscendBackend(self._target)
        self._options = self._backend.parse_options({})

    def lower(self, kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> str:
        source = ASTSource(kernel, signature=signature, constants=constants)
        context = ir.context()
        ir.load_dialects(context)
        self._backend.load_dialects(context)
        generation = self._backend.get_codegen_implementation()
        module = source.make_ir(self._options, generation, {}, context)
        metadata = {**self._options.__dict__, "target": self._target}
        return str(ascend.make_ttir(module, metadata, self._options))
