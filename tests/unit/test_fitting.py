"""Reduction of task sizes for emulated targets."""

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.tasks.fitting import fit
from kernelmill.tasks.module import TaskModule

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return self.linear(x)


rows = 4096
features = 512
HIDDEN = [{"rows": 3}, {"rows": 2047}]


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
"""

sizes = st.fixed_dictionaries({name: st.integers(2, 1 << 20) for name in "abc"})


@given(sizes=sizes, most=st.integers(1, 1 << 30))
def test_the_work_is_little_enough_or_no_size_can_shrink(sizes: dict[str, int], most: int) -> None:
    def work(now: dict[str, int]) -> int:
        total = 1
        for size in now.values():
            total *= size
        return total

    fitted = sizes | fit(sizes, most, work)
    assert work(fitted) <= most or all(size <= 2 for size in fitted.values())
    assert all(fitted[name] <= size for name, size in sizes.items())
    if work(sizes) <= most:
        assert fitted == sizes


@given(sizes=sizes)
def test_a_size_that_the_task_does_not_allow_to_shrink_stays(sizes: dict[str, int]) -> None:
    fitted = fit(sizes, 0, lambda now: None if now["a"] != sizes["a"] else 1)
    assert "a" not in fitted


def test_sizes_are_written_into_the_source() -> None:
    module = TaskModule(TASK, "emulated")
    (shown,) = module.inputs(0)
    assert 2 <= shown.shape[0] < 4096
    assert shown.shape[1] == 512
    again = TaskModule(module.source, "emulated")
    assert again.source == module.source
    assert again.inputs(0)[0].shape == shown.shape
    assert again.declared_hidden == module.declared_hidden
    assert module.declared_hidden is not None and module.declared_hidden[0] == {"rows": 3}
    assert TaskModule(TASK, "cpu").inputs(0)[0].shape[0] == 4096
