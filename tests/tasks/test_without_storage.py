"""Tasks that are larger than memory: described, traced and prompted without their tensors."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.campaign.prompting import next_prompt
from kernelmill.generators.composer import Composer, composer
from kernelmill.judge import Judge
from kernelmill.records.errors import TaskError
from kernelmill.sandbox import ResourceLimits
from kernelmill.tasks import TaskFile, load_suite, prober
from kernelmill.tasks.cutting import CostLimit, SizedTask, cut_down
from kernelmill.tasks.fake_tensors import UnknownValues, without_storage
from kernelmill.tasks.module import TaskModule
from kernelmill.tasks.shapes import shapes_of

LARGE = '''
"""Weights of 64 GiB, inputs of 16 GiB and lengths that get_inputs looks at."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, bias_shape):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.mask = torch.arange(4) < 3

    def forward(self, x, lengths):
        kept = torch.arange(x.shape[1]) < lengths[:, None]
        y = torch.relu(self.linear(x) + self.bias)
        return (y * kept).sum(1) * self.mask.sum()


rows = 32768
features = 131072
bias_shape = (1, features)


def get_inputs():
    lengths = torch.randint(0, features, (rows,))
    return [torch.rand(rows, features), lengths.clamp(max=int(lengths.max()) - 1)]


def get_init_inputs():
    return [features, bias_shape]
'''
TIGHT = ResourceLimits(memory_bytes=2 << 30, lifetime_seconds=600)


@pytest.fixture
def large(tmp_path: Path) -> TaskFile:
    path = tmp_path / "large.py"
    path.write_text(LARGE)
    return load_suite(str(path))[0]


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What describes and traces has 2 GiB beyond the zygote, where the task has 80."""
    monkeypatch.setattr(prober, "_LIMITS", TIGHT)
    monkeypatch.setattr(composer, "_LIMITS", TIGHT)


def test_a_task_larger_than_memory_is_described_and_traced(judge: Judge, large: TaskFile) -> None:
    task = judge.describe(large)
    assert [spec.shape for spec in task.shown.tensors] == [(32768, 131072), (32768,)]
    assert task.state["linear.weight"].shape == (131072, 131072)
    assert task.flops == 2 * 32768 * 131072**2
    assert task.hidden
    assert task.degenerate == "" and task.idle == ()
    assert "large" in task.distributions
    (rows, features), _ = (spec.shape for spec in task.examined)
    assert 8 <= rows <= 32768 and 8 <= features < 131072
    generator = Composer()
    try:
        graph = generator.trace(task)
    finally:
        generator.close()
    shapes = [[size.value for size in source.kind.shape] for source in graph.sources]
    assert [131072, 131072] in shapes and [32768, 131072] in shapes


def test_its_prompt_needs_no_memory_either(large: TaskFile, tmp_path: Path) -> None:
    prompt = next_prompt(large.path, tmp_path / "none").prompt
    assert "131072" in prompt.user


def test_values_of_a_large_tensor_are_not_computed(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "values.py"
    path.write_text(LARGE.replace("y = torch", "x = x[x[:, 0] > 0]\n        y = torch"))
    with pytest.raises(TaskError, match="looks at values"):
        judge.describe(load_suite(str(path))[0])


def test_a_cut_down_task_differs_in_sizes_only() -> None:
    module = TaskModule(LARGE, "cpu")
    shapes = shapes_of(module)
    limit = CostLimit(1 << 24, 1 << 30)
    small = cut_down(SizedTask(module, shapes), "cpu", limit)
    assert limit.excess(shapes) > 1 >= limit.excess(small.shapes)
    assert small.shapes.structure == shapes.structure
    features = small.shapes.state["linear.weight"].shape[0]
    assert small.shapes.state["bias"].shape == (1, features), "a constant follows from another"
    assert cut_down(small, "cpu", limit) is small


def _tripled(x: torch.Tensor) -> torch.Tensor:
    x[:, 0] *= 3
    return x


STEPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add in place": lambda x: x.add_(2),
    "column in place": _tripled,
    "transpose": lambda x: x.t().contiguous(),
    "outer": lambda x: x[:, :1] * x[:1, :1] - x,
    "cumulate": lambda x: x.cumsum(0),
    "look": lambda x: x * int(x.abs().sum().item() % 7),
    "select": lambda x: x[x[:, 0] >= x[0, 0]],
}


@settings(max_examples=30)
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
def test_small_tensors_keep_their_values(steps: list[str]) -> None:
    def compute() -> torch.Tensor:
        value = torch.arange(12).reshape(3, 4)
        for step in steps:
            value = STEPS[step](value)
        return value

    with without_storage() as fake:
        found = compute()
    assert not fake.has_lost_values
    assert torch.equal(found, compute())


def test_a_small_tensor_that_a_large_one_is_written_to_has_no_values() -> None:
    with without_storage() as fake:
        table = torch.zeros(4)
        table[:2] = torch.rand(1 << 40)[:2]
        assert fake.has_lost_values
        with pytest.raises(UnknownValues):
            table.sum().item()
