"""What judging takes of a device's memory, and what happens where there is too little."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from judge.kernels import TASK
from kernelmill.judge import Judge
from kernelmill.judge.devices.cuda import case_cache, input_ring
from kernelmill.judge.devices.cuda.case_cache import CaseCache, with_room
from kernelmill.judge.devices.cuda.footprint import Footprint
from kernelmill.judge.devices.cuda.protocol import CaseRequest
from kernelmill.judge.model_loading import outputs_in_float64
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node
from kernelmill.tasks.module import TaskModule
from samples import make_task

GIB = 1 << 30
H200 = int(139.8 * GIB)


def task_of(given: float, outputs: float, operator: str = "aten.relu") -> Task:
    """A task with so many GiB of inputs and of outputs."""

    def spec(size: float) -> TensorSpec:
        return TensorSpec("float32", (int(size * GIB) // 4,))

    shown = Variant({}, Node(items=(Node(tensor=0),)), (spec(given),), False)
    return msgspec.structs.replace(
        make_task(), variants=(shown,), outputs=(spec(outputs),), signature=(operator,)
    )


@pytest.mark.parametrize(
    ("given", "outputs"), [(8, 8), (16, 0.2), (1, 8), (4, 8), (8, 5.4)], ids=str
)
def test_the_largest_tasks_of_kernelbench_fit_on_one_device(given: float, outputs: float) -> None:
    footprint = Footprint.of(task_of(given, outputs, "aten.convolution" if given < 8 else "relu"))
    assert footprint.needed < H200
    assert footprint.is_large(H200)


def test_a_small_task_leaves_runners_on_standby_alone() -> None:
    assert not Footprint.of(task_of(0.1, 0.1)).is_large(H200)


class FakeHarness:
    total_bytes = H200

    def __init__(self, held: int) -> None:
        self.held_bytes = held
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_harnesses_are_closed_before_a_task_that_would_not_fit_beside_them() -> None:
    old, middle, new = (FakeHarness(held * GIB) for held in (10, 20, 30))
    device = SimpleNamespace(bytes_needed=lambda task: Footprint.of(task).needed)
    harnesses = {"old": old, "middle": middle, "new": new}
    judge = cast(Any, SimpleNamespace(device=device, _harnesses=harnesses))
    judge._would_exceed = lambda needed: Judge._would_exceed(judge, needed)
    Judge._make_room(judge, task_of(0.5, 0.5))
    assert list(harnesses) == ["old", "middle", "new"]
    Judge._make_room(judge, task_of(6, 6))
    assert list(harnesses) == ["new"] and old.closed and middle.closed and not new.closed


class Full:
    """Raises that memory does not suffice until enough was given up."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.given_up = 0

    def make(self) -> str:
        if self.left > 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return "made"

    def give_up(self) -> None:
        self.given_up += 1
        self.left -= 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_cache, "_PAUSES", (0.0, 0.0, 0.0))


@pytest.mark.usefixtures("impatient")
def test_what_can_be_done_without_is_given_up() -> None:
    full = Full(2)
    assert with_room(full.make, full.give_up) == "made"
    assert full.given_up == 2
    with pytest.raises(torch.OutOfMemoryError):
        with_room(Full(9).make, lambda: None)


@pytest.mark.usefixtures("impatient")
def test_a_cache_gives_up_its_cases_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CaseCache(TaskModule(TASK, "cpu"), 1 << 40)
    one, other = (CaseRequest({}, "plain", seed, 1e-5, ()) for seed in (1, 2))
    make: Callable[[CaseRequest], Any] = cache._make
    tried = []

    def make_alone(request: CaseRequest) -> Any:
        tried.append(request.seed)
        if cache._cases:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return make(request)

    monkeypatch.setattr(cache, "_make", make_alone)
    with torch.no_grad():
        first = cache.get(one)
        cache.get(other)
        assert tried == [1, 2, 2]
        assert [b.mismatches for b in cache.budgets(one)] == [
            e.budget.mismatches for e in first.expected
        ]
        assert tried == [1, 2, 2], "budgets outlive their case"
        cache.rest(0)
        assert not cache._cases


class RunsOut(nn.Module):
    """A model for whose results in float64 there is no room."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype is torch.float64:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return 2 * x


def test_too_little_memory_makes_no_budget_wider() -> None:
    """It says nothing about the reference, unlike another error in float64."""
    with pytest.raises(torch.OutOfMemoryError):
        outputs_in_float64(RunsOut(), [torch.rand(3)], "plain")


def test_a_row_is_drawn_in_chunks_as_it_is_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_ring, "_CHUNK_ELEMENTS", 7)
    source = torch.arange(1.0, 101.0)
    row = torch.zeros(100)
    input_ring._draw_in_chunks(row, source, np.random.default_rng(3))
    start = int(np.random.default_rng(3).integers(100))
    factors = row / source.roll(-start)
    assert float(factors.min()) >= 0.8 and float(factors.max()) <= 0.99 + 1e-6
    assert factors.unique().numel() > 50


@pytest.mark.parametrize(
    ("tensor", "unstructured"),
    [
        (torch.rand(2000, 700), True),
        (torch.rand(2000, 700).sort(dim=0).values, False),
        (torch.rand(2000, 700).sort(dim=1).values, False),
        (torch.rand(600_000), True),
        (torch.rand(600_000).sort().values, False),
        (torch.randint(0, 9, (2000, 70)).float(), False),
        (torch.rand(()), True),
    ],
    ids=["random", "columns", "rows", "line", "sorted line", "labels", "number"],
)
def test_structure_is_found_without_a_copy_of_the_whole(
    tensor: torch.Tensor, unstructured: bool
) -> None:
    assert input_ring._is_unstructured(tensor) is unstructured
