"""Tasks that ask nothing: repaired where other inputs help, else never called faster."""

from pathlib import Path

import pytest

from judge.kernels import TASK
from kernelmill.judge import Judge
from kernelmill.judge.screening import screen
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.tasks import TaskFile, load_suite

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]
TASKS = Path(__file__).parent.parent / "exploits" / "tasks"
ZERO = '''
"""Matrix product, maximum of every row, minus its own mean, GELU: always zero."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        largest = self.linear(x).amax(dim=1, keepdim=True)
        return nn.functional.gelu(largest - largest.mean(dim=1, keepdim=True))


rows = 64
features = 128


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
'''
MODEL = """
import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.run.argtypes = [ctypes.c_void_p, ctypes.c_int64]
_lib.run.restype = None


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        y = torch.empty(x.shape[0], 1)
        _lib.run(y.data_ptr(), y.numel())
        return y
"""
KERNEL = """
#include <cstdint>
extern "C" void run(float* y, int64_t count) {
    for (int64_t i = 0; i < count; ++i) y[i] = 0.0f;
}
"""


def file(folder: Path, text: str) -> TaskFile:
    path = folder / "task.py"
    path.write_text(text)
    return load_suite(str(path))[0]


def test_a_degenerate_task_is_named_and_nothing_is_faster(judge: Judge, tmp_path: Path) -> None:
    task = judge.describe(file(tmp_path, ZERO))
    assert "linear.weight" in task.degenerate and "input 0" in task.degenerate
    candidate = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE, "zeros")
    verdict = judge.verify(task, candidate)
    assert verdict.degenerate == task.degenerate
    if verdict.latency is not None:
        assert verdict.latency.over_baseline.verdict == "degenerate"
    assert screen(judge, task).has_hole


def test_inputs_are_repaired_until_outputs_depend_on_them(judge: Judge) -> None:
    task = judge.describe(load_suite(str(TASKS / "upsampled_channel_minimum.py"))[0])
    assert task.repair
    assert not task.degenerate and "upsample.weight" not in task.idle
    assert "zeros" not in screen(judge, task).open


def test_an_honest_task_is_left_alone(judge: Judge, tmp_path: Path) -> None:
    task = judge.describe(file(tmp_path, TASK))
    assert (task.repair, task.degenerate, task.idle) == ("", "", ())
    assert task.source == TASK
    assert screen(judge, task).open == ()


def test_a_scalar_output_is_no_constant(judge: Judge, tmp_path: Path) -> None:
    text = TASK.replace("return 2 * x + self.bias", "return (x + self.bias).sum()")
    assert screen(judge, judge.describe(file(tmp_path, text))).open == ()


def test_a_bias_ahead_of_a_norm_is_idle_and_not_degenerate(judge: Judge, tmp_path: Path) -> None:
    text = TASK.replace(
        "return 2 * x + self.bias", "y = x + self.bias[:1]\n        return y - y.mean(1, True)"
    )
    task = judge.describe(file(tmp_path, text))
    assert task.degenerate == ""
    assert task.idle == ("bias",)
