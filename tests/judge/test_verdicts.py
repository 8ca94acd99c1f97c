"""Verdicts on correct candidates, and on every kind of mistake."""

from pathlib import Path

import msgspec
import pytest

from judge.kernels import KERNEL, TASK, candidate
from kernelmill.judge import Judge
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.records.verdict import Gate, Verdict
from kernelmill.tasks import load_suite
from kernelmill.tasks.distributions import BASIC, STRUCTURES

pytestmark = pytest.mark.compiler


@pytest.fixture(scope="module")
def task(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Task:
    path = tmp_path_factory.mktemp("task") / "double.py"
    path.write_text(TASK)
    return judge.describe(load_suite(str(path))[0])


def test_an_honest_kernel_passes(judge: Judge, task: Task) -> None:
    verdict = judge.verify(task, candidate())
    assert verdict.passed, verdict.feedback
    assert verdict.gate is Gate.LATENCY
    assert len(verdict.trials) >= 5
    assert any(trial.hidden for trial in verdict.trials)
    distributions = {trial.distribution for trial in verdict.trials}
    assert distributions.issuperset({*BASIC, *STRUCTURES, "nan", "infinite"} - {"alike", "skewed"})
    assert verdict.latency is not None
    assert verdict.latency.over_baseline.low <= verdict.latency.over_baseline.ratio
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_buffer_of_the_reference_may_be_a_parameter(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "buffered.py"
    path.write_text(
        TASK.replace(
            "self.bias = nn.Parameter(torch.zeros(features))",
            'self.register_buffer("bias", torch.randn(features))',
        )
    )
    task = judge.describe(load_suite(str(path))[0])
    assert task.buffers == ("bias",)
    verdict = judge.verify(task, candidate())
    assert verdict.passed, verdict.feedback


def test_a_lost_nan_is_told_with_the_way_out(judge: Judge, task: Task) -> None:
    honest = "2 * x[r * cols + c] + bias[c]"
    lost = candidate(kernel=(honest, f"x[r * cols + c] == x[r * cols + c] ? {honest} : 0"))
    (feedback,) = judge.verify(task, lost).feedback
    assert (feedback.kind, "nan inputs" in feedback.evidence[0]) == ("numerical", True)
    assert "`x < 0 ? 0 : x`" in feedback.hint and "DOMAIN" in feedback.hint


def test_several_files_and_headers(judge: Judge, task: Task) -> None:
    parts = candidate(
        kernel=(KERNEL, '#include "inner/step.h"\n#include <cstdint>\n' + KERNEL.replace(
            "2 * x[r * cols + c] + bias[c]", "step(x[r * cols + c], bias[c])")),
        **{
            "inner/step.h": "float step(float x, float b);",
            "step.cpp": '#include "inner/step.h"\nfloat step(float x, float b) { return 2 * x + b; }',
        },
    )  # fmt: skip
    assert judge.verify(task, parts).passed


@pytest.mark.slow
def test_torch_compile_is_a_baseline_where_wanted(judge: Judge, task: Task) -> None:
    verdict = judge.verify(task, candidate(), compiled=True)
    assert verdict.latency is not None
    assert verdict.latency.over_compile is not None


LOAD_INLINE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor run(torch::Tensor x, torch::Tensor bias) {
  auto out = torch::empty_like(x);
  const float* a = x.data_ptr<float>();
  const float* b = bias.data_ptr<float>();
  float* o = out.data_ptr<float>();
  int64_t rows = x.size(0), cols = x.size(1);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) o[r * cols + c] = 2 * a[r * cols + c] + b[c];
  return out;
}
"""
double = load_inline(name="double_it", cpp_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return double.run(x, self.bias)
'''


@pytest.mark.slow
def test_the_single_file_form_is_accepted(judge: Judge, task: Task) -> None:
    inline = Candidate({"model.py": LOAD_INLINE}, Origin.FILE, "inline")
    verdict = judge.verify(task, inline)
    assert verdict.passed, verdict.feedback


def test_the_single_file_form_may_not_compute_with_the_framework(judge: Judge, task: Task) -> None:
    text = LOAD_INLINE.replace("auto out = torch::empty_like(x);", "return torch::add(x, bias);")
    verdict = judge.verify(task, Candidate({"model.py": text}, Origin.FILE, "inline"))
    assert verdict.gate is Gate.BUILD
    assert "torch::add" in verdict.feedback[0].text()


REFUSALS = {
    "wrong at the tail": (
        {"kernel": ("c < cols", "c < cols - 1")}, Gate.CORRECTNESS, "numerical", "255:256"),
    "wrong rows": (
        {"kernel": ("r < rows", "r < rows - 1")}, Gate.CORRECTNESS, "numerical", "63:64"),
    "low precision": (
        {"kernel": ("2 * x[r * cols + c] + bias[c]", "(float)(_Float16)(2 * x[r * cols + c] + bias[c])")},
        Gate.CORRECTNESS, "", ""),
    "default parameters": (
        {"kernel": (" + bias[c]", "")}, Gate.CORRECTNESS, "numerical", ""),
    "wrong shape": (
        {"model": ("return out", "return out.view(-1)")}, Gate.CORRECTNESS, "shape", "[16384]"),
    "wrong type": (
        {"model": ("torch.empty_like(x)", "torch.empty(x.shape, dtype=torch.float64)")},
        Gate.CORRECTNESS, "type", "float64"),
    "wrong length": (
        {"model": ("return out", "return out, out")}, Gate.CORRECTNESS, "length", ""),
    "no tensor": ({"model": ("return out", "return 3.0")}, Gate.CORRECTNESS, "length", "3.0"),
    "an object": (
        {"model": ("return out", "return {1, 2}")}, Gate.CORRECTNESS, "exception", "set"),
    "an exception": (
        {"model": ("return out", "return undefined_name")},
        Gate.CORRECTNESS, "exception", "undefined_name"),
    "a crash": (
        {"kernel": ("#pragma omp", "*(volatile int*)0 = 1;\n#pragma omp")},
        Gate.CORRECTNESS, "crash", "SIGSEGV"),
    "changed inputs": (
        {"kernel": ("2 * x[r * cols + c] + bias[c]",
                    "2 * x[r * cols + c] + bias[c], ((float*)x)[r * cols + c] = 0")},
        Gate.CORRECTNESS, "mutation", "input 0"),
    "an input returned": (
        {"model": ("out = torch.empty_like(x)", "out = x")}, Gate.CORRECTNESS, "", ""),
    "no such parameter": (
        {"model": ("self.bias = nn", "self.offset = nn")}, Gate.CORRECTNESS, "exception", "state_dict"),
    "a syntax error in C++": (
        {"kernel": ("int64_t rows, int64_t cols) {", "int64_t rows, int64_t cols) { oops")},
        Gate.BUILD, "compile-error", "kernel.cpp:4"),
    "a syntax error in Python": (
        {"model": ("import ctypes", "import ctypes +")}, Gate.INTEGRITY, "syntax", ""),
    "no ModelNew": (
        {"model": ("class ModelNew", "class Other")}, Gate.INTEGRITY, "no-model", ""),
    "framework arithmetic": (
        {"model": ("return out", "return x * 2 + self.bias")},
        Gate.CORRECTNESS, "framework-compute", "mul"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_is_wrong(judge: Judge, task: Task, name: str) -> None:
    changes, gate, kind, evidence = REFUSALS[name]
    verdict = judge.verify(task, candidate(**changes))  # type: ignore[arg-type]
    assert not verdict.passed
    assert verdict.gate is gate, verdict.feedback
    assert verdict.feedback[0].kind == kind or not kind, verdict.feedback
    assert evidence in verdict.feedback[0].text()


def test_a_kernel_that_never_ends(
    judge: Judge, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = msgspec.structs.replace(judge.settings, seconds=1.0)
    monkeypatch.setattr(judge, "settings", quick)
    verdict = judge.verify(
        task, candidate(kernel=("#pragma omp", "for (volatile int i = 0;; i = 1);\n#pragma omp"))
    )
    assert verdict.feedback[0].kind == "time-out"


def test_hidden_shapes_stay_hidden(judge: Judge, task: Task) -> None:
    """Feedback on a kernel that is wrong for a hidden shape does not say which shape."""
    verdict = judge.verify(
        task, candidate(kernel=("c < cols;", "c < (rows == 64 ? cols : cols - 1);"))
    )
    text = verdict.feedback[0].text()
    assert "a shape that is not shown" in text


def test_the_judge_goes_on_after_every_kind_of_failure(judge: Judge, task: Task) -> None:
    for change in (
        "*(volatile int*)0 = 1;",
        "__builtin_trap();",
        "for (int i = 0;; ++i) ((volatile char*)x)[i * 4096L] = 1;",
    ):
        judge.verify(task, candidate(kernel=("#pragma omp", f"{change}\n#pragma omp")))
        assert judge.verify(task, candidate()).passed


def test_a_missing_compiler_is_named(
    judge: Judge, task: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable, match=r"apt-get install g\+\+"):
        judge.verify(task, candidate())
