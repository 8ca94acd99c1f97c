"""The program of a runner on a GPU: holds a candidate (or a baseline) and answers the judge.

Runs inside a cell. Nothing here is trusted once a candidate is loaded: inputs come from, and
answers are read by, the examiner's process, while this one is stopped.
"""

import os
import tempfile
from contextlib import nullcontext
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec
import torch

from kernelmill.backends.candidate_files import WORKSHOP
from kernelmill.backends.triton.protocol import CACHE as TRITON_CACHE
from kernelmill.judge.cuda.memory import Adopted, Arena, tensors_at
from kernelmill.judge.cuda.profiling import profiled
from kernelmill.judge.cuda.protocol import ArenaShared, ShareRequest
from kernelmill.judge.hosting import compiled, load_candidate, pointers, set_state
from kernelmill.judge.protocol import (
    BatchDone,
    Done,
    LoadRequest,
    OutputTensor,
    ReferenceRequest,
    RingRequest,
    TrialDone,
    TrialRequest,
)
from kernelmill.sandbox import seccomp
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.confine import OWN_FOLDER
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tasks.module import TaskModule
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tensors.torch_side import describe, dtype_name, restore

CUDA = torch.device("cuda", 0)
_synchronise = torch._C._cuda_synchronize
_PROFILED_CALLS = 5


def run_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: a candidate's ModelNew."""
    start_device(arguments["threads"])
    arena = Arena(arguments["arena_bytes"])
    given = _share(channel, _stand_by(channel), arena)
    folder, workshop = Path(scratch) / "candidate", Path(scratch) / WORKSHOP
    _compile_in(workshop)
    writing = (str(workshop), OWN_FOLDER, *arguments["device_files"])
    message = channel.receive()
    request = msgspec.convert(message.body, LoadRequest)
    with arena.in_use():
        try:
            model = load_candidate(request, message.files, folder, CUDA, writing)
        except BaseException as error:  # the candidate's own code may raise anything
            channel.send(msgspec.to_builtins(failure(error, folder)))
            return
        channel.send(msgspec.to_builtins(Done()))
        runner = Runner(channel, model, folder, given)
        runner.also("profile", lambda _: (runner.profile(workshop), ()))
        runner.serve()


def run_baseline(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: a task's Model, eager or compiled."""
    start_device(arguments["threads"])
    _compile_in(Path(scratch) / WORKSHOP)
    given = _share(channel, channel.receive(), None)
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        module = TaskModule(request.source, request.scale, "cuda")
        model = module.draw({}, "plain", request.seed).model
        if request.compiled:
            model = compiled(model)
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    runner = Runner(channel, model, Path("<task>"), given)
    runner.also("null", runner.null)
    runner.also("relax", runner.relax)
    runner.serve()


def start_device(threads: int) -> None:
    """One context, and arithmetic as IEEE 754 has it: no types that are shorter than they say."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    _allow_short_types(False)
    torch.zeros(1, device=CUDA)
    _synchronise()


def _allow_short_types(allowed: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def _compile_in(workshop: Path) -> None:
    workshop.mkdir()
    os.environ["TRITON_CACHE_DIR"] = TRITON_CACHE
    os.environ["TMPDIR"] = tempfile.tempdir = str(workshop)


def _stand_by(channel: Channel) -> Message:
    """Say that it is up as often as asked; what comes then is for the candidate's sake."""
    while (message := channel.receive()).body.get("do") == "stand by":
        channel.send(msgspec.to_builtins(Done()))
    return message


def _share(channel: Channel, message: Message, arena: Arena | None) -> Adopted:
    """Before anything untrusted is here: take the block of inputs, hand over that of answers."""
    request = msgspec.convert(message.body, ShareRequest)
    given = Adopted(message.files[0], request.given_bytes, writable=False)
    files = () if arena is None else (arena.file(),)
    answer = ArenaShared(0, 0) if arena is None else ArenaShared(arena.address, arena.bytes)
    channel.send(msgspec.to_builtins(answer), files)
    for file in (*files, *message.files):
        os.close(file)
    return given


class Runner(Server):
    def __init__(self, channel: Channel, model: Any, folder: Path, given: Adopted | None) -> None:
        super().__init__(channel, folder)
        self._model = model
        self._given = given
        self._held: Any = None
        self._slots: list[list[Any]] = []
        self.also("trial", self._trial)
        self.also("ring", self._ring)
        self.also("batch", self._batch)
        self.also("lock", self._lock)

    def profile(self, workshop: Path) -> Any:
        """As many calls however few slots there are: one that was seen once may be an accident."""
        slots = islice(cycle(self._slots), _PROFILED_CALLS)
        return profiled([partial(self._model, *slot) for slot in slots], workshop)

    def _trial(self, message: Message) -> tuple[TrialDone, tuple[int, ...]]:
        request = msgspec.convert(message.body, TrialRequest)
        tensors = self._bind(request)
        inputs = restore(request.inputs, tensors)
        _poison(request.poison)
        calls = OperatorLog()
        with calls if request.watched else nullcontext():
            self._held = self._model(*inputs)
        _synchronise()
        outputs: list[torch.Tensor] = []
        node = describe(self._held, outputs)
        described = [_output(tensor) for tensor in outputs]
        return TrialDone(node, described, 0, list(calls.names)), ()

    def _ring(self, message: Message) -> tuple[Done, tuple[int, ...]]:
        request = msgspec.convert(message.body, RingRequest)
        tensors = self._bind(request)
        width = request.slot_width
        self._slots = [
            restore(request.inputs, tensors[slot * width : (slot + 1) * width])
            for slot in range(request.slots)
        ]
        return Done(), ()

    def _batch(self, message: Message) -> tuple[BatchDone, tuple[int, ...]]:
        self._held = None
        model = self._model
        self._held = [model(*slot) for slot in self._slots[: message.body["calls"]]]
        _synchronise()
        return BatchDone([pointers(value) for value in self._held]), ()

    def null(self, message: Message) -> tuple[BatchDone, tuple[int, ...]]:
        """A batch of calls that do nothing: what a batch costs beside its calls."""
        self._held = None
        answer = torch.zeros(1, device=CUDA)
        self._held = [_nothing(answer, *slot) for slot in self._slots[: message.body["calls"]]]
        _synchronise()
        return BatchDone([pointers(value) for value in self._held]), ()

    def relax(self, message: Message) -> tuple[Done, tuple[int, ...]]:
        """Allow products in types that are shorter than they say, or forbid them again."""
        _allow_short_types(message.body["allowed"])
        return Done(), ()

    def _lock(self, _message: Message) -> tuple[Done, tuple[int, ...]]:
        """Everything is compiled: no program starts from here any more."""
        if seccomp.supported():
            seccomp.forbid_programs()
        return Done(), ()

    def _bind(self, request: TrialRequest | RingRequest) -> list[torch.Tensor]:
        """Make the state part of what is given the model's state."""
        self._held, self._slots = None, []
        assert self._given is not None
        tensors = tensors_at(self._given.address, request.layout)
        set_state(self._model, {name: tensors[index] for name, index in request.state.items()})
        return tensors


def _nothing(answer: torch.Tensor, *_inputs: Any) -> torch.Tensor:
    return answer


def _poison(outputs: list[tuple[str, tuple[int, ...]]]) -> None:
    """Fill and free memory of the outputs' sizes, so that what is not written shows."""
    for dtype_text, shape in outputs:
        dtype = getattr(torch, dtype_text)
        rubbish = float("nan") if dtype.is_floating_point else 113
        torch.full(shape, rubbish, dtype=dtype, device=CUDA)


def _output(tensor: torch.Tensor) -> OutputTensor:
    plain = type(tensor) is torch.Tensor and tensor.layout is torch.strided
    if not plain or tensor.device.type != "cuda":
        raise TypeError(f"an output is a {type(tensor).__name__} on {tensor.device}, not a Tensor")
    return OutputTensor(
        dtype=dtype_name(tensor.dtype),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        address=tensor.data_ptr(),
    )
