"""The pypto backend without its library: the allow-list of kernels, extraction, diagnostics."""

import ast
from pathlib import Path

import pytest

from kernelmill.backends.pypto.backend import PyptoBackend
from kernelmill.backends.pypto.diagnostics import simulator_failure
from kernelmill.backends.pypto.kernels import check_kernels, kernel_source
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.sandbox.serving import ProgramFailed

BACKEND = PyptoBackend()
KERNELS = sorted(
    path for kind in ("examples", "baselines") for path in (BACKEND.folder() / kind).glob("*/*")
)
GELU = (BACKEND.examples() / "starter" / "gelu" / "model.py").read_text()
FIRST = "    pypto.set_vec_tile_shapes("


@pytest.mark.parametrize("folder", KERNELS, ids=lambda path: f"{path.parts[-3]}-{path.name}")
def test_honest_kernels_break_no_rule(folder: Path) -> None:
    candidate = read_candidate(folder)
    assert BACKEND.inspect_sources(candidate) == []
    assert check_kernels(candidate.files["model.py"], "model.py") == []


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "__import__('os').system('true')",
        "eval('1')",
        "x = torch.relu(x)",
        "x = pypto.runtime.torch.relu(x)",
        "pypto.set_verify_golden_data(goldens=[x])",
        "x = (lambda: x)()",
        "x = x.__class__",
        "x = [y for y in (x,)]",
        "pypto = x",
        "x = x.data_ptr",
        "pypto.frontend.jit = x",
        "global z",
    ],
)
def test_a_kernel_outside_the_allow_list_is_refused(line: str) -> None:
    text = GELU.replace(FIRST, f"    {line}\n{FIRST}")
    assert text != GELU
    assert check_kernels(text, "model.py")


def test_only_kernels_are_extracted_without_decorators() -> None:
    text = kernel_source(f"{GELU}\n\nprint('module')\n")
    tree = ast.parse(text)
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["gelu_kernel"]
    assert len(tree.body) == 1
    assert "jit" not in text


def test_an_undecorated_function_is_no_kernel() -> None:
    text = GELU.replace("@pypto.frontend.jit\n", "")
    findings = BACKEND.inspect_sources(Candidate({"model.py": text}, Origin.FILE))
    assert {finding.rule for finding in findings} & {"no-kernel", "kernel-language"}


def test_an_overflow_says_which_memory_and_what_to_do() -> None:
    message = (
        "[ERROR] PYPTO(6):2026-11-15 17:55:36.514 [schedule_base.h:347][PASS]:"
        "[OoOScheduleBase.Operation]:Alloc tensor [68] size [1048576] exceeds MEM_UB size [196608]!"
    )
    failure = simulator_failure(ProgramFailed("CompilerError", message, []))
    assert failure.kind == "ub-overflow"
    assert "1048576 bytes of UB, which has 196608" in failure.summary
    assert "smaller tiles" in failure.hint
