"""What is compiled ahead of a candidate's first call is what its calls then ask for."""

from contextlib import closing

import msgspec
import pytest

from gpu.conftest import JudgeFor, described
from kernelmill.candidate import Origin, read_candidate
from kernelmill.judge.hidden_sizes import with_drawn_sizes

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["gelu", "layer_norm", "matmul", "softmax"])
def test_no_compiler_is_needed_any_more(judge_for: JudgeFor, name: str) -> None:
    judge = judge_for("triton")
    backend, zygote = judge.backend, judge.zygote
    task = described(judge, f"starter/{name}")
    candidate = read_candidate(backend.examples() / "starter" / name, Origin.FILE)
    built = backend.build(candidate, zygote)
    built = backend.compile_for(with_drawn_sizes(task), candidate, built, zygote)
    locked_in = msgspec.structs.replace(built, compiles_at_run_time=False)
    with closing(judge.bench(task)) as bench, bench.seat(candidate, locked_in) as subject:
        checked = bench.check(subject, small=False)
    assert checked.feedback is None, checked.feedback.text()
