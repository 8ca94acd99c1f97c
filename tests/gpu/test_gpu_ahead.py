"""Ahead-of-time compilation covers everything that a candidate's calls need."""

from contextlib import closing

import msgspec
import pytest

from gpu.conftest import JudgeFor, described
from kernelmill.backends.reading import read_candidate
from kernelmill.judge.hidden_sizes import with_secret_sizes
from kernelmill.records.candidate import Origin

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["gelu", "layer_norm", "matmul", "softmax"])
def test_a_runner_needs_no_compiler(judge_for: JudgeFor, name: str) -> None:
    judge = judge_for("triton")
    backend, zygote = judge.backend, judge.zygote
    task = described(judge, f"starter/{name}")
    candidate = read_candidate(backend.examples() / "starter" / name, Origin.FILE)
    built = backend.build(candidate, zygote)
    built = backend.compile_for(with_secret_sizes(task), candidate, built, zygote)
    locked_in = msgspec.structs.replace(built, compiles_at_run_time=False)
    with (
        closing(judge.harness(task)) as harness,
        harness.spawn_runner(candidate, locked_in) as runner,
    ):
        checked = harness.check(runner, small=False)
    assert checked.feedback is None, checked.feedback.text()
