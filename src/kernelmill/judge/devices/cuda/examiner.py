"""The program of the examiner: the task's own process on the device, on the judge's side.

It draws inputs, holds expected outputs, and compares them with the outputs in a runner's memory.
It runs in a sandbox of its own, which no candidate can reach.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch import nn

from kernelmill.judge.devices.cuda import driver
from kernelmill.judge.devices.cuda.case_cache import CaseCache, DrawnCase
from kernelmill.judge.devices.cuda.compare import compare_tensors, compare_timed
from kernelmill.judge.devices.cuda.footprint import CASES_SHARE, REST_SHARE
from kernelmill.judge.devices.cuda.input_ring import DeviceInputRing
from kernelmill.judge.devices.cuda.memory import ImportedBlock, SharedBlock, as_bytes, tensors_at
from kernelmill.judge.devices.cuda.protocol import (
    CaseCompared,
    CaseRequest,
    CompareRequest,
    DeviceCaseMade,
    Hardware,
    RingMade,
    TimedCheck,
    TimedCheckRequest,
)
from kernelmill.judge.devices.cuda.runner import CUDA, start_device
from kernelmill.judge.model_loading import set_state
from kernelmill.judge.protocol import OutputTensor, ReferenceRequest, RingRequest
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import tensor_specs
from kernelmill.records.tensors import lay_out
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Done, Server, failure
from kernelmill.tasks.arithmetic import set_arithmetic
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.torch_side import describe_value, restore_value

_MOST_SPLIT_MIB = 256
_PROBE_ELEMENTS = 1 << 26
_PROBE_REPEATS = 10
_ESTIMATE_CALLS = 5
_LEAST_SLOTS = 2
"""With a single call per batch, one output memory for all calls would not show."""
_RUBBISH = 0xFF
"""The byte that overwrites outputs: floats become NaN, integers minus one."""

_Answer = tuple[Any, tuple[int, ...]]
"""An answer, and the open files that go with it."""


def run_examiner(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Serve a task's examiner. An entry of the zygote."""
    # A large block that a small tensor takes a part of cannot be given back.
    torch._C._accelerator_setAllocatorSettings(f"max_split_size_mb:{_MOST_SPLIT_MIB}")
    start_device(arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    set_arithmetic(request.numerics, CUDA.type)
    try:
        module = TaskModule(request.source, request.scale, "cuda")
        model = module.model(request.seed)  # its state is that of the cases
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    _Examiner(channel, module, model, request.numerics).serve()


class _Slot(NamedTuple):
    """What one timed call is made with."""

    inputs: list[Any]
    state: dict[str, torch.Tensor]


class _Examiner(Server):
    def __init__(
        self, channel: Channel, module: TaskModule, model: nn.Module, numerics: Numerics
    ) -> None:
        super().__init__(channel, Path("<task>"))
        self._model = model
        memory = torch.cuda.get_device_properties(CUDA).total_memory
        self._cases = CaseCache(module, int(memory * CASES_SHARE), numerics)
        self._rest_bytes = int(memory * REST_SHARE)
        self._given: SharedBlock | None = None
        self._ring: DeviceInputRing | None = None
        self._slots: list[_Slot] = []
        self._arena: ImportedBlock | None = None
        self._probe_tensors: list[torch.Tensor] = []
        self._commands = {
            "hardware": self._hardware,
            "case": self._case,
            "drop_case": self._drop_case,
            "rest": self._rest,
            "make_ring": self._make_ring,
            "export_inputs": self._export_inputs,
            "import_arena": self._import_arena,
            "release_arena": self._release_arena,
            "write_inputs": self._write_inputs,
            "compare": self._compare,
            "ring": self._attach,
            "refresh": self._refresh,
            "check_timed": self._check_timed,
            "probe": self._probe,
        }

    def _hardware(self, _message: ChannelMessage) -> _Answer:
        properties = torch.cuda.get_device_properties(CUDA)
        speeds = driver.speeds(CUDA.index)
        return Hardware(
            name=properties.name,
            memory_bytes=properties.total_memory,
            cache_bytes=properties.L2_cache_size,
            bytes_per_ms=2.0 * speeds.memory_clock_khz * speeds.memory_bits / 8,
            multiprocessors=properties.multi_processor_count,
            cycles_per_ms=float(speeds.clock_khz),
        ), ()

    def _case(self, message: ChannelMessage) -> _Answer:
        case = self._cases.get(msgspec.convert(message.body["case"], CaseRequest))
        return DeviceCaseMade(
            inputs=case.inputs,
            layout=lay_out(case.given_specs),
            state=case.state,
            outputs=case.outputs,
            output_specs=tensor_specs([e.eager for e in case.expected]),
            bytes=case.bytes,
        ), ()

    def _rest(self, _message: ChannelMessage) -> _Answer:
        """Give back the memory that only makes the next verdict faster."""
        self._cases.rest(self._rest_bytes)
        return Done(), ()

    def _drop_case(self, message: ChannelMessage) -> _Answer:
        self._cases.drop(msgspec.convert(message.body["case"], CaseRequest))
        return Done(), ()

    def _make_ring(self, message: ChannelMessage) -> _Answer:
        """A ring with enough slots for a batch that the clock resolves and no cache can hold."""
        body = message.body
        one, *others = (msgspec.convert(one, CaseRequest) for one in body["cases"])
        first = self._cases.get(one)
        given = [first.given, *(self._cases.get(other).given for other in others)]
        shared = frozenset(first.state[name] for name in body["buffers"] if name in first.state)
        input_bytes = sum(t.nbytes for i, t in enumerate(first.given) if i not in shared)
        output_bytes = sum(e.eager.nbytes for e in first.expected)
        cache_bytes = torch.cuda.get_device_properties(CUDA).L2_cache_size
        wanted = max(
            body["batch_ns"] / self._estimate_call(first), 2 * cache_bytes / max(1, input_bytes)
        )
        fitting = body["most_bytes"] // max(1, output_bytes, input_bytes)
        slots = int(max(_LEAST_SLOTS, min(wanted, fitting, body["most_slots"])))
        self._ring = ring = DeviceInputRing(given, slots, shared)
        self._cases.rest(self._rest_bytes)
        size = max(ring.layout.bytes, body["case_bytes"])
        self._given = SharedBlock(size)
        return RingMade(
            slots=slots,
            slot_width=ring.width,
            layout=ring.layout,
            inputs=first.inputs,
            state=ring.shared_state(first.state),
            parameters=ring.own_state(first.state),
            given_bytes=self._given.bytes,
            output_bytes=output_bytes,
        ), ()

    def _estimate_call(self, case: DrawnCase) -> float:
        """Approximate nanoseconds of a call of eager."""
        inputs = self._bind(case)
        taken = []
        for _ in range(3):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(_ESTIMATE_CALLS):
                self._model(*inputs)
            torch.cuda.synchronize()
            taken.append((time.perf_counter_ns() - start) / _ESTIMATE_CALLS)
        return min(taken)

    def _bind(self, case: DrawnCase) -> list[Any]:
        set_state(self._model, {name: case.given[index] for name, index in case.state.items()})
        inputs: list[Any] = restore_value(case.inputs, case.given)
        return inputs

    def _export_inputs(self, _message: ChannelMessage) -> _Answer:
        assert self._given is not None
        return Done(), (self._given.file(),)

    def _import_arena(self, message: ChannelMessage) -> _Answer:
        body = message.body
        self._arena = ImportedBlock(message.files[0], body["bytes"], body["address"])
        return Done(), ()

    def _release_arena(self, _message: ChannelMessage) -> _Answer:
        if self._arena is not None:
            self._arena.close()
            self._arena = None
        return Done(), ()

    def _write_inputs(self, message: ChannelMessage) -> _Answer:
        assert self._given is not None
        case = self._cases.get(msgspec.convert(message.body["case"], CaseRequest))
        targets = tensors_at(self._given.address, lay_out(case.given_specs))
        for target, source in zip(targets, case.given, strict=True):
            target.copy_(source)
        torch.cuda.synchronize()
        return Done(), ()

    def _compare(self, message: ChannelMessage) -> _Answer:
        assert self._given is not None
        request = msgspec.convert(message.body["request"], CompareRequest)
        case = self._cases.get(request.case)
        changed = self._changed_input(case)
        results = []
        for index, (output, expected) in enumerate(
            zip(request.tensors, case.expected, strict=True)
        ):
            actual = self._arena_tensor(output)
            if actual is None:
                return CaseCompared(index, changed, []), ()
            results.append(compare_tensors(actual, expected))
        return CaseCompared(None, changed, results), ()

    def _changed_input(self, case: DrawnCase) -> int | None:
        """The index of an input that the runner has changed."""
        assert self._given is not None
        present = tensors_at(self._given.address, lay_out(case.given_specs))
        for index in range(len(case.given) - len(case.state)):
            ours, theirs = case.given[index], present[index]
            if ours.numel() and not torch.equal(_raw(ours), _raw(theirs)):
                return index
        return None

    def _arena_tensor(self, output: OutputTensor) -> torch.Tensor | None:
        """A tensor in the runner's memory; None where it is elsewhere."""
        dtype = getattr(torch, output.dtype)
        if 0 in output.shape:
            return torch.empty(output.shape, dtype=dtype, device=CUDA)
        raw = self._arena_bytes(output)
        if raw is None:
            return None
        return torch.as_strided(raw.view(dtype), output.shape, output.strides)

    def _arena_bytes(self, output: OutputTensor) -> torch.Tensor | None:
        """The bytes of such a tensor, from its first element to its last."""
        assert self._arena is not None
        size = getattr(torch, output.dtype).itemsize
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        address = self._arena.translate(output.address, (last + 1) * size)
        if address is None or address % size:
            return None
        return as_bytes(address, (last + 1) * size)

    def _attach(self, message: ChannelMessage) -> _Answer:
        assert self._given is not None and self._ring is not None
        request = msgspec.convert(message.body, RingRequest)
        self._ring.place(self._given.address)
        tensors = tensors_at(self._given.address, request.layout)
        shared = {name: tensors[index] for name, index in request.state.items()}
        self._slots = []
        for slot in range(request.slots):
            own = tensors[slot * request.slot_width : (slot + 1) * request.slot_width]
            parameters = {name: own[index] for name, index in request.parameters.items()}
            self._slots.append(_Slot(restore_value(request.inputs, own), shared | parameters))
        return Done(), ()

    def _refresh(self, message: ChannelMessage) -> _Answer:
        """Give every timed call new inputs, and take back any part of the cache set aside."""
        assert self._ring is not None
        self._ring.refresh(np.random.default_rng(message.body["seed"]))
        driver.reset_persisting_cache()
        torch.cuda.synchronize()
        return Done(), ()

    def _check_timed(self, message: ChannelMessage) -> _Answer:
        request = msgspec.convert(message.body["request"], TimedCheckRequest)
        budgets = self._cases.budgets(request.case)
        wrong, compared, norm = 0, 0, 0.0
        for call in request.calls:
            wanted: list[torch.Tensor] = []
            slot = self._slots[call]
            set_state(self._model, slot.state)
            describe_value(self._model(*slot.inputs), wanted)
            for index, (theirs, budget) in enumerate(zip(wanted, budgets, strict=True)):
                output = _at(request.outputs[index], request.pointers[call][index])
                actual = self._arena_tensor(output)
                if actual is None:
                    return TimedCheck(True, 0, 0, 0.0), ()
                error = compare_timed(actual, theirs, budget)
                wrong += max(0, error.wrong - 2 * budget.mismatches)
                norm = max(norm, error.norm)
                compared += actual.numel()
        self._overwrite_outputs(request)
        torch.cuda.synchronize()
        return TimedCheck(False, wrong, compared, norm), ()

    def _overwrite_outputs(self, request: TimedCheckRequest) -> None:
        """Fill all old outputs with rubbish, so that the next check notices elements which were
        not written again."""
        for call in request.pointers:
            for output, address in zip(request.outputs, call, strict=True):
                raw = None if 0 in output.shape else self._arena_bytes(_at(output, address))
                if raw is not None:
                    raw.fill_(_RUBBISH)

    def _probe(self, _message: ChannelMessage) -> _Answer:
        """Work that takes a known time on a device that is idle otherwise."""
        if not self._probe_tensors:
            zeros = torch.zeros(_PROBE_ELEMENTS, device=CUDA)
            self._probe_tensors = [zeros, torch.empty_like(zeros)]
        source, target = self._probe_tensors
        for _ in range(_PROBE_REPEATS):
            torch.mul(source, 1.5, out=target)
        torch.cuda.synchronize()
        return Done(), ()


def _at(output: OutputTensor, address: int) -> OutputTensor:
    return msgspec.structs.replace(output, address=address)


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
