"""The parts of judging on a GPU that need none."""

import signal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kernelmill.judge import compare as on_host
from kernelmill.judge.correctness import failure_feedback
from kernelmill.judge.devices.cuda import compare as on_device
from kernelmill.judge.devices.cuda.diagnosis import diagnose_profile
from kernelmill.judge.devices.cuda.exception_hints import EXCEPTION_HINTS
from kernelmill.judge.devices.cuda.free_list import FreeList
from kernelmill.judge.devices.cuda.protocol import Hardware, KernelSeen, Profiled
from kernelmill.judge.runner_handle import RunnerRaised
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import Interval, Latency
from kernelmill.sandbox import SandboxCrashed
from kernelmill.sandbox.serving import ProgramFailed

STEP = 2 << 20
LARGEST = 1e300


@given(st.lists(st.tuples(st.integers(1, 40 * STEP), st.booleans()), max_size=60))
def test_parts_of_a_block_never_overlap(requests: list[tuple[int, bool]]) -> None:
    start, size = 1 << 40, 200 * STEP
    free_list = FreeList(start, size)
    taken: dict[int, int] = {}
    for wanted, then_free in requests:
        address = free_list.allocate(wanted)
        if address is None:
            continue
        assert start <= address
        assert address + wanted <= start + size
        assert all(address + wanted <= a or a + s <= address for a, s in taken.items())
        taken[address] = wanted
        if then_free:
            victim = min(taken)
            free_list.free(victim, taken.pop(victim))
    for address, length in taken.items():
        free_list.free(address, length)
    assert free_list.allocate(size) == start


FLOATS = st.floats(-1e6, 1e6, width=32) | st.sampled_from([np.nan, np.inf, -np.inf])


@given(st.data())
def test_the_device_compares_as_the_processor_does(data: st.DataObject) -> None:
    shape = data.draw(array_shapes(max_dims=3, max_side=5))
    eager, actual = (data.draw(arrays(np.float32, shape, elements=FLOATS)) for _ in range(2))
    noise = data.draw(arrays(np.float64, shape, elements=st.floats(-1e-6, 1e-6)))
    with np.errstate(invalid="ignore"):
        exact = eager.astype(np.float64) * (1 + noise)
    actual = np.where(data.draw(arrays(np.bool_, shape)), actual, eager)
    budget = on_host.make_budget("float32", eager, exact, 8.0)
    tensors = [torch.from_numpy(np.ascontiguousarray(a)) for a in (actual, eager, exact)]
    theirs = on_device.make_tensor_budget(tensors[1], tensors[2], 8.0)
    assert theirs.norm == pytest.approx(budget.norm)
    assert theirs.absolute == pytest.approx(budget.absolute)
    host = on_host.compare(actual, on_host.ExpectedOutput("float32", eager, exact, budget))
    device = on_device.compare_tensors(
        tensors[0], on_device.ExpectedTensor(tensors[1], tensors[2], budget)
    )
    assert (device.error > 1) == (host.error > 1)
    assert device.wrong == host.wrong
    assert device.box == host.box
    assert min(host.error, LARGEST) == pytest.approx(device.error)


@given(
    arrays(np.int64, 20, elements=st.integers(0, 3)),
    arrays(np.int64, 20, elements=st.integers(0, 3)),
)
def test_the_device_compares_integers_alike(actual: np.ndarray, exact: np.ndarray) -> None:
    budget = on_host.make_budget("int64", exact, exact, 8.0)
    host = on_host.compare(actual, on_host.ExpectedOutput("int64", exact, exact, budget))
    wanted = torch.from_numpy(exact)
    device = on_device.compare_tensors(
        torch.from_numpy(actual), on_device.ExpectedTensor(wanted, wanted, budget)
    )
    assert (device.wrong, device.box) == (host.wrong, host.box)


def test_a_diagnosis_tells_own_kernels_from_foreign_ones() -> None:
    spec = TensorSpec("float32", (1024, 1024))
    shown = Variant({}, Node(tensor=0), (spec,), False)
    task = Task("t", "f", "", "", "gpu", (shown,), ("plain",), (spec,), {}, (), 2 << 30)
    hardware = Hardware("GPU", 1 << 37, 50 << 20, 4.8e9, 132, 1.98e6)
    latency = Latency(0.1, 0.2, None, Interval(2.0, 1.9, 2.1), None, 0.01, 0.01, 24, 10)

    def seen(name: str, nanoseconds: int) -> KernelSeen:
        return KernelSeen(name, 5, nanoseconds, 64, 256, 32, 0, 0.5, 0)

    profiled = Profiled(
        [
            seen("void (anonymous namespace)::mine<(int)256>(float const*)", 300_000),
            seen("sm90_xmma_gemm_f32f32_tn", 100_000),
            seen("Memset (Device)", 50_000),
        ],
        5,
    )
    diagnosis, profile = diagnose_profile(profiled, ("mine",), task, latency, hardware)
    assert profile.kernel == pytest.approx(300 / 450)
    assert profile.foreign == pytest.approx(100 / 450)
    assert profile.foreign_ms == pytest.approx(0.02)
    assert diagnosis.launches == 3
    assert diagnosis.busy == pytest.approx(0.9)
    assert diagnosis.bandwidth == pytest.approx(2 * 4 * 1024**2 / 0.1 / 4.8e9)
    assert "mine" in diagnosis.text()


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 4 GiB", "smaller tiles"),
        ("OutOfResources", "out of resource: shared memory", "smaller tiles"),
        ("RuntimeError", "CUDA error: an illegal memory access was encountered", "check bounds"),
        ("RuntimeError", "state_dict: missing bias", "parameter and buffer names"),
        ("MemoryError", "", "more memory than a kernel may use"),
        ("ValueError", "no", ""),
    ],
)
def test_hints_of_a_device_come_before_general_ones(error: str, message: str, hint: str) -> None:
    raised = RunnerRaised(ProgramFailed(error, message, []))
    found = failure_feedback(raised, EXCEPTION_HINTS).hint
    assert hint in found and bool(hint) == bool(found)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_the_hint_on_a_crash_names_what_else_ends_so(number: int) -> None:
    hint = failure_feedback(SandboxCrashed(None, number, "")).hint
    assert ("bounds" in hint and "assert" in hint and "abort()" in hint) == (
        number != signal.SIGKILL
    )
