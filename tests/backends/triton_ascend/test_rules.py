"""Static rules of triton_ascend: what they find, and that honest code passes."""

from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin

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
