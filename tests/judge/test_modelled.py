"""Baselines on modelled chips: the first form that passes, else the first feasible kernel."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelmill.backends.base import BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.modelled import (
    BaselineMissing,
    Estimate,
    ModelledBackend,
    Peak,
    Session,
    SessionOpener,
)
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task, TensorSpec
from kernelmill.records.verdict import FIRST_FEASIBLE, Verdict
from kernelmill.sandbox import Zygote
from kernelmill.tasks import load_suite
from kernelmill.tensors.arguments import CallArguments, InitArguments

DOUBLE = Path(__file__).parents[1] / "npu" / "double.py"
CYCLES = 1000.0
UNRULED = JudgeSettings(static_rules=False, threads=1)


class SlideRuleSession(Session):
    """Multiplies by a factor, in as many cycles as it is told."""

    def __init__(self, factor: float, cycles: float) -> None:
        self._factor = factor
        self._cycles = cycles

    def execute(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> list[Any]:
        return [np.float32(self._factor) * arguments.tensors.array(0)]

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        return Estimate(self._cycles / 1e6, self._cycles, 1, "slide rule", notes=("by hand",))

    def close(self) -> None:
        pass


class SlideRuleBackend(ModelledBackend):
    name = "triton_ascend"  # the judge's zygote imports the rules behind an entry point
    title = "a slide rule"
    chips = ("wood",)
    clock = "strokes of a hand"
    baseline = "the table"

    def __init__(self, *forms: Session | Exception) -> None:
        super().__init__()
        self.forms = forms

    @property
    def peak(self) -> Peak:
        return Peak(1e30, 1e30)

    def requirements(self) -> list[Requirement]:
        return []

    def toolchain(self) -> str:
        return "a hand"

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        return []

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        return Built({})

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        factor, cycles = map(float, candidate.files["model.py"].split())
        return SlideRuleSession(factor, cycles)

    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        if not self.forms:
            raise BaselineMissing("nobody wrote a table")
        for form in self.forms:
            yield lambda form=form: opened(form)


def opened(form: Session | Exception) -> Session:
    if isinstance(form, Exception):
        raise form
    return form


def verify(judge: Judge, task: Task, factor: float, cycles: float) -> Verdict:
    return judge.verify(task, Candidate({"model.py": f"{factor} {cycles}"}, Origin.FILE))


def ratio(verdict: Verdict) -> float:
    assert verdict.passed, verdict.feedback
    assert verdict.latency is not None
    return verdict.latency.over_baseline.ratio


@pytest.fixture(scope="module")
def task() -> Task:
    with Judge(SlideRuleBackend(), UNRULED) as judge:
        return judge.describe(load_suite(str(DOUBLE))[0])


def test_the_first_form_that_passes_is_the_baseline(task: Task) -> None:
    too_large = BuildFailed("ub-overflow", "too large", ())
    forms = (too_large, SlideRuleSession(3, 1), SlideRuleSession(2, CYCLES))
    with Judge(SlideRuleBackend(*forms), UNRULED) as judge:
        verdict = verify(judge, task, 2, CYCLES / 4)
    assert ratio(verdict) == 4
    assert verdict.modelled is not None
    assert verdict.modelled.baseline == "the table"
    assert "the table: by hand" in verdict.modelled.notes


def test_without_a_baseline_the_first_feasible_kernel_is_one(task: Task) -> None:
    with Judge(SlideRuleBackend(), UNRULED) as judge:
        assert not verify(judge, task, 3, 1.0).passed
        first = verify(judge, task, 2, CYCLES)
        assert ratio(first) == 1
        assert ratio(verify(judge, task, 2, CYCLES / 2)) == 2
    assert first.latency is not None
    assert first.modelled is not None
    assert first.latency.baseline == first.modelled.baseline == FIRST_FEASIBLE
    assert "no the table: nobody wrote a table" in first.modelled.notes
    with Judge(SlideRuleBackend(), UNRULED) as another:
        another.restore(task, first)
        assert ratio(verify(another, task, 2, CYCLES / 8)) == 8


def test_a_form_that_fails_leaves_the_first_feasible_kernel(task: Task) -> None:
    with Judge(SlideRuleBackend(SlideRuleSession(3, 1)), UNRULED) as judge:
        judge.get_ready(task)
        verdict = verify(judge, task, 2, CYCLES)
    assert ratio(verdict) == 1
    assert verdict.modelled is not None
    assert "wrong in" in " ".join(verdict.modelled.notes)
