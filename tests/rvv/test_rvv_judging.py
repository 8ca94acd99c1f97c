"""Kernels for RISC-V vectors through all gates: honest ones pass, each mistake gets its name."""

import re
from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices.modelled import harness
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError, UsageError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Gate, Verdict
from kernelmill.tasks import load_suite
from rvv.kernels import TASK, candidate

PROJECT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((get_backend("rvv").examples() / "starter").iterdir())


@pytest.fixture(scope="module")
def task(emulating: Judge, tmp_path_factory: pytest.TempPathFactory) -> Task:
    path = tmp_path_factory.mktemp("task") / "double.py"
    path.write_text(TASK)
    return emulating.describe(load_suite(str(path))[0])


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_every_example_passes(emulating: Judge, folder: Path) -> None:
    task = emulating.describe(load_suite(f"starter/{folder.name}")[0])
    verdict = emulating.verify(task, read_candidate(folder, Origin.FILE))
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.latency is not None and verdict.latency.over_baseline.ratio > 1


def test_the_example_of_the_page_passes(emulating: Judge) -> None:
    page = (PROJECT / "docs" / "rvv.md").read_text()
    (code,) = re.findall(r"```cpp\n(.*?)```", page, re.S)
    task = emulating.describe(load_suite("basic/relu")[0])
    verdict = emulating.verify(task, Candidate({"kernel.cpp": code}, Origin.FILE))
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]


def test_a_verdict_names_its_model(emulating: Judge, task: Task) -> None:
    verdict = emulating.verify(task, candidate())
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.latency is not None and verdict.modelled is not None
    assert verdict.latency.counted
    assert verdict.latency.baseline == "plain clang"
    assert verdict.latency.candidate_ms == verdict.modelled.cycles / 1e6
    assert sum(verdict.modelled.units.values()) == pytest.approx(1)
    assert "modelled cycles" in verdict.evidence.clock
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_where_the_simulator_is_slow_every_shape_is_tried_once(
    emulating: Judge, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = emulating.verify(task, candidate())
    monkeypatch.setattr(harness, "_PATIENT_SECONDS", 0.0)
    monkeypatch.setattr(harness, "_SAMPLED_SHARE", 0.0)
    sampled = emulating.verify(task, candidate())
    assert sampled.passed and len(sampled.trials) < len(whole.trials)
    hidden = [trial.hidden for trial in sampled.trials]
    assert hidden.count(False) == 1
    assert hidden.count(True) == sum(variant.hidden for variant in task.variants)


BEGIN = "    for (int64_t row = 0"
MISTAKES = {
    "reads-behind": (
        ("size_t(columns); i += vl) {\n            vl = __riscv_vsetvl_e32m4(columns - i);",
         "size_t(columns); i += vl) {\n            vl = __riscv_vsetvlmax_e32m4();"),
        Gate.CORRECTNESS, "out-of-bounds"),
    "reads-before": ((BEGIN, "    y[0] = x[-1];\n" + BEGIN), Gate.CORRECTNESS, "out-of-bounds"),
    "writes-behind": (
        (BEGIN, "    y[rows * columns] = 0;\n" + BEGIN), Gate.CORRECTNESS, "out-of-bounds"),
    "writes-to-state": (
        (BEGIN, "    const_cast<float*>(bias)[0] = 0;\n" + BEGIN), Gate.CORRECTNESS, "mutation"),
    "null": ((BEGIN, "    y[0] = *(volatile float*)nullptr;\n" + BEGIN), Gate.CORRECTNESS, "crash"),
    "wrong": (("2.0f", "2.1f"), Gate.CORRECTNESS, "numerical"),
    "unwritten": (("row < rows", "row < rows - 1"), Gate.CORRECTNESS, "numerical"),
    "aborts": (
        (BEGIN, "    if (rows > 0) __builtin_abort();\n" + BEGIN), Gate.CORRECTNESS, "system-call"),
    "does-not-compile": (("2.0f", "two"), Gate.BUILD, "compile-error"),
    "no-entry-point": (("model_new", "model_now"), Gate.INTEGRITY, "no-kernel"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_called_by_its_name(emulating: Judge, task: Task, name: str) -> None:
    change, gate, kind = MISTAKES[name]
    verdict = emulating.verify(task, candidate(*change))
    assert (verdict.gate, verdict.feedback[0].kind) == (gate, kind), verdict.feedback


def test_a_step_over_the_edge_is_told_to_the_byte(emulating: Judge, task: Task) -> None:
    change = (BEGIN, "    y[0] = x[rows * columns + 3];\n" + BEGIN)
    (feedback,) = emulating.verify(task, candidate(*change)).feedback
    assert feedback.summary == "it reads 12 bytes behind the end of inputs[0]"


def test_an_endless_loop_is_ended(task: Task) -> None:
    endless = candidate(BEGIN, "    while (*(volatile float*)y != 1) {}\n" + BEGIN)
    with Judge(get_backend("rvv"), JudgeSettings(seconds=2.0)) as judge:
        verdict = judge.verify(task, endless)
    assert (verdict.gate, verdict.feedback[0].kind) == (Gate.CORRECTNESS, "time-out")


def test_a_candidate_of_another_backend_is_none(emulating: Judge, task: Task) -> None:
    with pytest.raises(CandidateError, match=r"has no kernel\.cpp"):
        emulating.verify(task, Candidate({"model.py": ""}, Origin.FILE))


def test_a_chip_is_chosen_by_name() -> None:
    assert get_backend("rvv:vlen128").machine() != get_backend("rvv").machine()
    with pytest.raises(UsageError, match="vlen256"):
        get_backend("rvv:vlen17")
