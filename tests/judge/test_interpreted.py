"""Triton kernels on a machine without a GPU: checked by the interpreter, and not timed."""

import importlib.util
from collections.abc import Iterator

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Gate
from kernelmill.tasks import load_suite

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="needs Triton: pip install triton"
)


@pytest.fixture(scope="module")
def interpreting() -> Iterator[Judge]:
    backend = get_backend("triton")
    if backend.device_kind != "cpu":
        pytest.skip("there is a GPU here: make test-gpu judges on it")
    with Judge(backend, JudgeSettings(seconds=60.0)) as judge:
        yield judge


@pytest.mark.parametrize("name", ["gelu", "layer_norm", "softmax"])
def test_a_correct_kernel_passes_and_is_not_timed(interpreting: Judge, name: str) -> None:
    task = interpreting.describe(load_suite(f"starter/{name}")[0])
    example = read_candidate(interpreting.backend.examples() / "starter" / name, Origin.FILE)
    verdict = interpreting.verify(task, example)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.gate is Gate.CORRECTNESS
    assert verdict.latency is None


def test_a_wrong_kernel_is_refused(interpreting: Judge) -> None:
    task = interpreting.describe(load_suite("starter/softmax")[0])
    example = read_candidate(interpreting.backend.examples() / "starter" / "softmax", Origin.FILE)
    text = example.files["model.py"].replace("tl.max(values", "tl.min(values")
    verdict = interpreting.verify(task, Candidate({"model.py": text}, Origin.FILE, "wrong"))
    assert verdict.gate is Gate.CORRECTNESS
    assert verdict.feedback[0].kind == "numerical"
