"""The shipped CPU kernels pass every gate."""

from pathlib import Path

import pytest

from kernelmill.backends.cpp.backend import CppBackend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge
from kernelmill.records.candidate import Origin
from kernelmill.tasks import load_suite
from tiers import one_in

pytestmark = pytest.mark.compiler

EXAMPLES = sorted((CppBackend().examples() / "starter").iterdir())


@pytest.mark.parametrize("folder", one_in(4, EXAMPLES), ids=lambda folder: folder.name)
def test_every_example_passes(judge: Judge, folder: Path) -> None:
    task = judge.describe(load_suite(f"starter/{folder.name}")[0])
    verdict = judge.verify(task, read_candidate(folder, Origin.FILE))
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]


def test_every_starter_task_has_an_example() -> None:
    names = {task.id.partition("/")[2] for task in load_suite("starter")}
    assert names == {folder.name for folder in EXAMPLES}
