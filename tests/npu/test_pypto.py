"""The pypto backend under the judge: interpreted on real inputs, timed by the simulator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelmill.backends.pypto.backend import PyptoBackend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Verdict
from kernelmill.tasks import load_suite

pytestmark = pytest.mark.npu("pypto")

EXAMPLES = sorted((PyptoBackend().examples() / "starter").iterdir())
GELU = (PyptoBackend().examples() / "starter" / "gelu" / "model.py").read_text()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(PyptoBackend(), JudgeSettings(seconds=300.0)) as judge:
        yield judge


def judged(judge: Judge, text: str, task: str) -> Verdict:
    described = judge.describe(load_suite(f"starter/{task}")[0])
    return judge.verify(described, Candidate({"model.py": text}, Origin.FILE, "changed"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_every_example_passes(judge: Judge, folder: Path) -> None:
    verdict = judged(judge, (folder / "model.py").read_text(), folder.name)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.modelled is not None


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("numerical", "0.044715", "0.05"),
        ("ub-overflow", "set_vec_tile_shapes(8, 1024)", "set_vec_tile_shapes(512, 1024)"),
        ("framework-compute", "return y", "return y + 0"),
    ],
)
def test_a_wrong_kernel_gets_the_right_verdict(judge: Judge, kind: str, old: str, new: str) -> None:
    verdict = judged(judge, GELU.replace(old, new), "gelu")
    assert kind in {feedback.kind for feedback in verdict.feedback}
