"""The shipped GPU kernels pass every gate."""

from pathlib import Path

import pytest

from gpu.conftest import JudgeFor, described
from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Origin

pytestmark = pytest.mark.gpu

EXAMPLES = [
    (backend, folder)
    for backend in ("triton", "cuda")
    for folder in sorted((get_backend(backend).examples() / "starter").iterdir())
]


@pytest.mark.parametrize(
    ("backend", "folder"), EXAMPLES, ids=lambda value: getattr(value, "name", value)
)
def test_every_example_passes(judge_for: JudgeFor, backend: str, folder: Path) -> None:
    judge = judge_for(backend)
    task = described(judge, f"starter/{folder.name}")
    verdict = judge.verify(task, read_candidate(folder, Origin.FILE))
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.evidence.device
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.launches >= 1
    assert all(kernel.registers > 0 for kernel in verdict.diagnosis.kernels[:1])
