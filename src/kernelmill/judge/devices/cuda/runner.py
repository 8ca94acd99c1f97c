"""The program of a runner on a GPU: a sandbox with a candidate or a baseline.

Nothing here is trusted once a candidate is loaded: the examiner's process writes the inputs and
reads the outputs while this one is stopped.
"""

import os
import tempfile
from collections.abc import Collection
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec
import torch

from kernelmill.backends.support.candidate_files import COMPILE_CACHE, TRITON_CACHE
from kernelmill.judge.devices.cuda.memory import Arena, ImportedBlock, tensors_at
from kernelmill.judge.devices.cuda.profiling import profile_calls
from kernelmill.judge.devices.cuda.protocol import ArenaShared, ShareRequest
from kernelmill.judge.model_loading import (
    compile_model,
    construct_candidate,
    pointers,
)
from kernelmill.judge.model_server import GivenTensors, ModelServer
from kernelmill.judge.protocol import BatchDone, CandidateRequest, ReferenceRequest
from kernelmill.records.numerics import Numerics
from kernelmill.records.tensors import Layout
from kernelmill.sandbox import seccomp
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.confine import OWN_FOLDER
from kernelmill.sandbox.serving import Done, failure
from kernelmill.tasks.arithmetic import set_arithmetic
from kernelmill.tasks.module import TaskModule

CUDA = torch.device("cuda", 0)
_synchronise = torch._C._cuda_synchronize
_PROFILED_CALLS = 5


def run_device_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Serve a candidate's ModelNew. An entry of the zygote."""
    start_device(arguments["threads"])
    arena = Arena(arguments["arena_bytes"])
    given = _share(channel, _stand_by(channel), arena)
    folder, compile_cache = Path(scratch) / "candidate", Path(scratch) / COMPILE_CACHE
    _compile_in(compile_cache)
    writing = (str(compile_cache), OWN_FOLDER, *arguments["device_files"])
    message = channel.receive()
    request = msgspec.convert(message.body, CandidateRequest)
    with arena.in_use():
        try:
            model = construct_candidate(request, message.files, folder, CUDA, writing)
        except BaseException as error:  # the candidate's own code may raise anything
            channel.send(msgspec.to_builtins(failure(error, folder)))
            return
        channel.send(msgspec.to_builtins(Done()))
        runner = _CudaServer(channel, model, folder, given)
        runner.add_command("profile", lambda _: (runner.profile(compile_cache), ()))
        runner.serve()


def run_device_baseline(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Serve a task's Model, eager or compiled. An entry of the zygote."""
    start_device(arguments["threads"])
    _compile_in(Path(scratch) / COMPILE_CACHE)
    given = _share(channel, channel.receive(), None)
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    set_arithmetic(request.numerics, CUDA.type)
    try:
        module = TaskModule(request.source, request.scale, "cuda")
        model = module.model(request.seed)  # its state comes with every request
        if request.compiled:
            model = compile_model(model)
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    runner = _CudaServer(channel, model, Path("<task>"), given)
    runner.add_command("empty_batch", runner.empty_batch)
    runner.add_command("compute_with", runner.compute_with)
    runner.add_command("rest", runner.rest)
    runner.serve()


def start_device(threads: int) -> None:
    """Create the context."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch.zeros(1, device=CUDA)
    _synchronise()


def _compile_in(compile_cache: Path) -> None:
    compile_cache.mkdir()
    os.environ["TRITON_CACHE_DIR"] = TRITON_CACHE
    os.environ["TMPDIR"] = tempfile.tempdir = str(compile_cache)


def _stand_by(channel: Channel) -> ChannelMessage:
    """Confirm the start as often as asked. Returns the first request of another kind."""
    while (message := channel.receive()).body.get("do") == "stand by":
        channel.send(msgspec.to_builtins(Done()))
    return message


def _share(channel: Channel, message: ChannelMessage, arena: Arena | None) -> ImportedBlock:
    """Map the block of inputs and hand over the arena, before anything untrusted is loaded."""
    request = msgspec.convert(message.body, ShareRequest)
    given = ImportedBlock(message.files[0], request.given_bytes, writable=False)
    files = () if arena is None else (arena.file(),)
    answer = ArenaShared(0, 0) if arena is None else ArenaShared(arena.address, arena.bytes)
    channel.send(msgspec.to_builtins(answer), files)
    for file in (*files, *message.files):
        os.close(file)
    return given


class _CudaServer(ModelServer):
    def __init__(self, channel: Channel, model: Any, folder: Path, given: ImportedBlock) -> None:
        super().__init__(channel, model, folder, CUDA)
        self._given = given
        self.add_command("lock", self._lock)

    def take_tensors(
        self, message: ChannelMessage, layout: Layout, writable: Collection[int]
    ) -> GivenTensors:
        return GivenTensors(tensors_at(self._given.address, layout))

    def synchronise(self) -> None:
        _synchronise()

    def profile(self, compile_cache: Path) -> Any:
        """Profile several calls, even where there are fewer slots: a single one may be atypical."""
        slots = islice(cycle(self._slots), _PROFILED_CALLS)
        return profile_calls([partial(self.call, slot) for slot in slots], compile_cache)

    def empty_batch(self, message: ChannelMessage) -> tuple[BatchDone, tuple[int, ...]]:
        """A batch of empty calls, which has the overhead of a batch alone."""
        self._held = None
        answer = torch.zeros(1, device=CUDA)
        calls = self._slots[: message.body["calls"]]
        self._held = [_empty_call(answer, *self.bind(slot)) for slot in calls]
        _synchronise()
        return BatchDone([pointers(value) for value in self._held]), ()

    def compute_with(self, message: ChannelMessage) -> tuple[Done, tuple[int, ...]]:
        set_arithmetic(Numerics(message.body["numerics"]), CUDA.type)
        return Done(), ()

    def rest(self, _message: ChannelMessage) -> tuple[Done, tuple[int, ...]]:
        """Give back the memory that only makes the next call faster."""
        self._held, self._warm = None, None
        torch.cuda.empty_cache()
        return Done(), ()

    def _lock(self, _message: ChannelMessage) -> tuple[Done, tuple[int, ...]]:
        """Forbid the start of programs, once everything is compiled."""
        if seccomp.supported():
            seccomp.forbid_programs()
        return Done(), ()


def _empty_call(answer: torch.Tensor, *_inputs: Any) -> torch.Tensor:
    return answer
