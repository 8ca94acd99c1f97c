"""The triton_ascend backend under the judge: honest kernels pass, wrong ones get the right verdict."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.triton_ascend.backend import TritonAscendBackend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Gate, Verdict
from kernelmill.tasks import load_suite

pytestmark = pytest.mark.npu("triton_ascend")

BACKEND = TritonAscendBackend()
GELU = (BACKEND.examples() / "starter" / "gelu" / "model.py").read_text()
QUICK = ("gelu", "layer_norm", "matmul", "softmax")
"""Examples that the short run judges too."""
EXAMPLES = [
    pytest.param(folder, marks=() if folder.name in QUICK else pytest.mark.slow, id=folder.name)
    for folder in sorted((BACKEND.examples() / "starter").iterdir())
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Judges correctness alone: the baseline has a test of its own."""
    backend = TritonAscendBackend()
    backend.has_latency_gate = False
    with Judge(backend, JudgeSettings(seconds=120.0, static_rules=False)) as judge:
        yield judge


def judged(judge: Judge, text: str, task: str = "gelu") -> Verdict:
    described = judge.describe(load_suite(f"starter/{task}")[0])
    return judge.verify(described, Candidate({"model.py": text}, Origin.FILE, "changed"))


@pytest.mark.parametrize("folder", EXAMPLES)
def test_every_example_passes(judge: Judge, folder: Path) -> None:
    text = (folder / "model.py").read_text()
    verdict = judged(judge, text, folder.name)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]


WRONG = {
    "numerical": ("0.044715", "0.05"),
    "out-of-bounds": ("inside = offsets < count", "inside = offsets < count + 4096"),
    "ub-overflow": ("block = 4096", "block = 65536"),
    "compile-error": ("tl.exp(minus_two_u)", "tl.no_such_thing(minus_two_u)"),
    "framework-compute": ("        return y", "        return y + 0"),
    "aliasing": ("        return y", "        return x"),
    "no-kernel": ("        gelu_kernel[(programs,)](x, y, count, BLOCK=block)", ""),
    "mutation": ("](x, y, count", "](y, x, count"),
    "shape": ("        return y", "        return y.view(-1)"),
}


NOT_COMPILED = ("ub-overflow", "compile-error")


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_kernel_gets_the_right_verdict(judge: Judge, kind: str) -> None:
    text = GELU.replace(*WRONG[kind])
    assert text != GELU
    verdict = judged(judge, text)
    assert not verdict.passed
    assert kind in {feedback.kind for feedback in verdict.feedback}, verdict.feedback
    assert verdict.gate is (Gate.BUILD if kind in NOT_COMPILED else Gate.CORRECTNESS)


def test_a_kernel_is_compared_with_plain_triton() -> None:
    with Judge(get_backend("triton_ascend"), JudgeSettings(seconds=300.0)) as judge:
        task = judge.describe(load_suite("starter/softmax")[0])
        example = read_candidate(BACKEND.examples() / "starter" / "softmax", Origin.SHIPPED)
        verdict = judge.verify(task, example)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.latency is not None
    assert verdict.modelled is not None
    assert "HIVM" in verdict.modelled.model
