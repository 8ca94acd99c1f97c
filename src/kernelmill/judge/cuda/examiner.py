"""The program of the examiner: the task's own process on the device, on the judge's side.

It draws inputs, knows what is expected, and reads and compares the answers that lie in a runner's
memory. Runs inside a cell; no candidate comes near it.
"""

import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import nn

from kernelmill.judge.cuda import driver
from kernelmill.judge.cuda.compare import compare, compare_timed
from kernelmill.judge.cuda.kept_cases import DrawnCase, KeptCases
from kernelmill.judge.cuda.memory import Adopted, Shared, as_bytes, tensors_at
from kernelmill.judge.cuda.protocol import (
    Audited,
    AuditRequest,
    CaseCompared,
    CaseMade,
    CaseRequest,
    CompareRequest,
    Hardware,
    RingMade,
)
from kernelmill.judge.cuda.ring import DeviceRing
from kernelmill.judge.cuda.runner import CUDA, start_device
from kernelmill.judge.hosting import set_state
from kernelmill.judge.protocol import Done, OutputTensor, ReferenceRequest, RingRequest
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.serving import Server, failure
from kernelmill.tasks.module import TaskModule
from kernelmill.tasks.task import kinds
from kernelmill.tensors.layout import lay_out
from kernelmill.tensors.torch_side import describe, restore

_CASES_SHARE = 8
"""The part of the device's memory that cases may hold between trials."""
_QUIET_ELEMENTS = 1 << 26
_QUIET_TIMES = 10
_SURVEY_CALLS = 5
_RUBBISH = 0xFF
"""In every byte: not a number, or minus one."""

Answer = tuple[Any, tuple[int, ...]]


def run_examiner(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry."""
    start_device(arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        module = TaskModule(request.source, request.scale, "cuda")
        model = module.draw({}, "plain", request.seed).model
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    _Examiner(channel, module, model).serve()


class _Examiner(Server):
    def __init__(self, channel: Channel, module: TaskModule, model: nn.Module) -> None:
        super().__init__(channel, Path("<task>"))
        self._model = model
        memory = torch.cuda.get_device_properties(CUDA).total_memory
        self._cases = KeptCases(module, memory // _CASES_SHARE)
        self._given: Shared | None = None
        self._ring: DeviceRing | None = None
        self._slots: list[list[Any]] = []
        self._guest: Adopted | None = None
        self._quiet_work: list[torch.Tensor] = []
        self._commands = {
            "hardware": self._hardware,
            "case": self._case,
            "forget": self._forget,
            "make_ring": self._make_ring,
            "given": self._give_block,
            "adopt": self._adopt,
            "release": self._release,
            "give": self._give,
            "compare": self._compare,
            "ring": self._attach,
            "refresh": self._refresh,
            "audit": self._audit,
            "quiet": self._quiet,
        }

    def _hardware(self, _message: Message) -> Answer:
        known = torch.cuda.get_device_properties(CUDA)
        speeds = driver.speeds(CUDA.index)
        return Hardware(
            name=known.name,
            memory_bytes=known.total_memory,
            cache_bytes=known.L2_cache_size,
            bytes_per_ms=2.0 * speeds.memory_clock_khz * speeds.memory_bits / 8,
            multiprocessors=known.multi_processor_count,
            cycles_per_ms=float(speeds.clock_khz),
        ), ()

    def _case(self, message: Message) -> Answer:
        case = self._cases.get(msgspec.convert(message.body["case"], CaseRequest))
        return CaseMade(
            inputs=case.inputs,
            layout=lay_out(case.kinds),
            state=case.state,
            outputs=case.outputs,
            kinds=kinds([e.eager for e in case.expected]),
            bytes=case.bytes,
        ), ()

    def _forget(self, message: Message) -> Answer:
        self._cases.forget(msgspec.convert(message.body["case"], CaseRequest))
        return Done(), ()

    def _make_ring(self, message: Message) -> Answer:
        """As many slots as make a batch long enough for the clock and too large for the cache."""
        body = message.body
        stock = [self._cases.get(msgspec.convert(one, CaseRequest)) for one in body["stock"]]
        first = stock[0]
        width = len(first.given) - len(first.state)
        answers = sum(e.eager.nbytes for e in first.expected)
        wanted = max(
            body["batch_ns"] / self._survey(first),
            2 * torch.cuda.get_device_properties(CUDA).L2_cache_size
            / max(1, sum(t.nbytes for t in first.given[:width])),
        )  # fmt: skip
        largest = max(1, answers, sum(t.nbytes for t in first.given[:width]))
        slots = int(max(1, min(wanted, body["most_bytes"] // largest, body["most_slots"])))
        constant = frozenset(first.state[name] for name in body["buffers"] if name in first.state)
        self._ring = DeviceRing([case.given for case in stock], width, slots, constant)
        self._given = Shared(max(self._ring.layout.bytes, body["case_bytes"]))
        state = {n: i - width + slots * width for n, i in first.state.items()}
        return RingMade(
            slots=slots,
            layout=self._ring.layout,
            inputs=first.inputs,
            state=state,
            given_bytes=self._given.bytes,
            answer_bytes=answers,
        ), ()

    def _survey(self, case: DrawnCase) -> float:
        """About how long a call of eager takes, in nanoseconds."""
        inputs = self._bind(case)
        taken = []
        for _ in range(3):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(_SURVEY_CALLS):
                self._model(*inputs)
            torch.cuda.synchronize()
            taken.append((time.perf_counter_ns() - start) / _SURVEY_CALLS)
        return min(taken)

    def _bind(self, case: DrawnCase) -> list[Any]:
        set_state(self._model, {name: case.given[index] for name, index in case.state.items()})
        inputs: list[Any] = restore(case.inputs, case.given)
        return inputs

    def _give_block(self, _message: Message) -> Answer:
        assert self._given is not None
        return Done(), (self._given.file(),)

    def _adopt(self, message: Message) -> Answer:
        body = message.body
        self._guest = Adopted(message.files[0], body["bytes"], body["address"])
        return Done(), ()

    def _release(self, _message: Message) -> Answer:
        if self._guest is not None:
            self._guest.close()
            self._guest = None
        return Done(), ()

    def _give(self, message: Message) -> Answer:
        assert self._given is not None
        case = self._cases.get(msgspec.convert(message.body["case"], CaseRequest))
        targets = tensors_at(self._given.address, lay_out(case.kinds))
        for target, source in zip(targets, case.given, strict=True):
            target.copy_(source)
        torch.cuda.synchronize()
        return Done(), ()

    def _compare(self, message: Message) -> Answer:
        assert self._given is not None
        request = msgspec.convert(message.body["request"], CompareRequest)
        case = self._cases.get(request.case)
        changed = self._changed(case)
        results = []
        for index, (output, expected) in enumerate(
            zip(request.tensors, case.expected, strict=True)
        ):
            actual = self._guests(output)
            if actual is None:
                return CaseCompared(index, changed, []), ()
            results.append(compare(actual, expected))
        return CaseCompared(None, changed, results), ()

    def _changed(self, case: DrawnCase) -> int | None:
        assert self._given is not None
        found = tensors_at(self._given.address, lay_out(case.kinds))
        for index in range(len(case.given) - len(case.state)):
            ours, theirs = case.given[index], found[index]
            if ours.numel() and not torch.equal(_raw(ours), _raw(theirs)):
                return index
        return None

    def _guests(self, output: OutputTensor) -> torch.Tensor | None:
        """A runner's tensor, as it lies in its memory; None where it lies elsewhere."""
        dtype = getattr(torch, output.dtype)
        if 0 in output.shape:
            return torch.empty(output.shape, dtype=dtype, device=CUDA)
        raw = self._guests_bytes(output)
        if raw is None:
            return None
        return torch.as_strided(raw.view(dtype), output.shape, output.strides)

    def _guests_bytes(self, output: OutputTensor) -> torch.Tensor | None:
        """From its first element to its last."""
        assert self._guest is not None
        size = getattr(torch, output.dtype).itemsize
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        address = self._guest.here(output.address, (last + 1) * size)
        if address is None or address % size:
            return None
        return as_bytes(address, (last + 1) * size)

    def _attach(self, message: Message) -> Answer:
        assert self._given is not None and self._ring is not None
        request = msgspec.convert(message.body, RingRequest)
        self._ring.place(self._given.address)
        tensors = tensors_at(self._given.address, request.layout)
        width = request.slot_width
        set_state(self._model, {name: tensors[index] for name, index in request.state.items()})
        self._slots = [
            restore(request.inputs, tensors[slot * width : (slot + 1) * width])
            for slot in range(request.slots)
        ]
        return Done(), ()

    def _refresh(self, message: Message) -> Answer:
        """New numbers for every timed call; and no part of the cache stays anybody's."""
        assert self._ring is not None
        self._ring.refresh(np.random.default_rng(message.body["seed"]))
        driver.reset_persisting_cache()
        torch.cuda.synchronize()
        return Done(), ()

    def _audit(self, message: Message) -> Answer:
        request = msgspec.convert(message.body["request"], AuditRequest)
        case = self._cases.get(request.case)
        wrong, looked_at, norm = 0, 0, 0.0
        for call in request.calls:
            wanted: list[torch.Tensor] = []
            describe(self._model(*self._slots[call]), wanted)
            for index, (theirs, expected) in enumerate(zip(wanted, case.expected, strict=True)):
                actual = self._guests(_at(request.outputs[index], request.pointers[call][index]))
                if actual is None:
                    return Audited(True, 0, 0, 0.0), ()
                error = compare_timed(actual, theirs, expected.budget)
                wrong += max(0, error.wrong - 2 * expected.budget.mismatches)
                norm = max(norm, error.norm)
                looked_at += actual.numel()
        self._spoil(request)
        torch.cuda.synchronize()
        return Audited(False, wrong, looked_at, norm), ()

    def _spoil(self, request: AuditRequest) -> None:
        """Ruin all its old answers: memory it leaves unwritten next time shows."""
        for call in request.pointers:
            for output, address in zip(request.outputs, call, strict=True):
                raw = None if 0 in output.shape else self._guests_bytes(_at(output, address))
                if raw is not None:
                    raw.fill_(_RUBBISH)

    def _quiet(self, _message: Message) -> Answer:
        """Some work of which it is known how long it takes when nobody else computes."""
        if not self._quiet_work:
            empty = torch.zeros(_QUIET_ELEMENTS, device=CUDA)
            self._quiet_work = [empty, torch.empty_like(empty)]
        source, target = self._quiet_work
        for _ in range(_QUIET_TIMES):
            torch.mul(source, 1.5, out=target)
        torch.cuda.synchronize()
        return Done(), ()


def _at(output: OutputTensor, address: int) -> OutputTensor:
    return msgspec.structs.replace(output, address=address)


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
