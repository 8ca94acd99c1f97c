"""Static rules of triton_ascend: what they find, and that honest code passes."""

from pathlib import Path

import msgspec
import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import TensorSpec
from samples import make_task

BACKEND = get_backend("triton_ascend")
EXAMPLES = sorted((BACKEND.examples() / "starter").iterdir())
GELU = (BACKEND.examples() / "starter" / "gelu" / "model.py").read_text()


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_examples_break_no_rule(folder: Path) -> None:
    assert BACKEND.inspect_sources(read_candidate(folder)) == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("y = torch.nn.functional.gelu(x)", "framework-compute"),
        ("self.kept = y", "state"),
        ("triton.testing.do_bench(gelu_kernel)", "kernel-language"),
    ],
)
def test_rules_find_it(line: str, rule: str) -> None:
    text = GELU.replace("        return y", f"        {line}\n        return y")
    findings = BACKEND.inspect_sources(Candidate({"model.py": text}, Origin.FILE))
    assert rule in {finding.rule for finding in findings}


def test_a_type_that_the_chip_lacks_is_named_before_anything_is_spent() -> None:
    task = make_task()
    assert BACKEND.lacks(task) == ""
    double = TensorSpec("float64", (2, 2))
    wide = msgspec.structs.replace(task, outputs=(double,), state={"weight": double})
    assert BACKEND.lacks(wide) == get_backend("pypto").lacks(wide) == "float64"
