"""Feedback from recorded logs of libtpu that end with an abort."""

import signal

import pytest

from kernelmill.backends.pallas.diagnostics import crash_failure
from kernelmill.sandbox import SandboxCrashed

_CHECK = "Check failed: TakeStatus() is OK (INTERNAL: LLO_CHECK failure "
_PACKED = f"{_CHECK}(llo_region.cc:393) Expected vector-int16, got vector-bf16packed"
_SHAPE = f"{_CHECK}(llo_window.cc:20) rank 1"


@pytest.mark.parametrize(("line", "hint"), [(_PACKED, "float32"), (_SHAPE, "simpler blocks")])
def test_an_abort_becomes_evidence_and_a_hint(line: str, hint: str) -> None:
    printed = "\n".join([f"F1116 05:59:30.000 12 llo.cc:1] {line}", "*** stack ***"] * 2)
    failed = crash_failure(SandboxCrashed(None, signal.SIGABRT, ""), printed)
    assert (failed.kind, failed.evidence) == ("crash", (line,))
    assert "SIGABRT" in failed.summary
    assert hint in failed.hint


@pytest.mark.parametrize(
    ("instruction", "hint"), [("kScalarMultiplyHighU32", "block sizes"), ("kDmaHbmToSmem", "SMEM")]
)
def test_an_instruction_without_a_cycle_model_is_classified(instruction: str, hint: str) -> None:
    error = f"UNIMPLEMENTED: Unsupported llo instruction: {instruction}"
    printed = f"Static LLO profiling of kernel.1 failed: {error}\n"
    failed = crash_failure(SandboxCrashed(None, signal.SIGABRT, ""), printed)
    assert (failed.kind, failed.evidence) == ("unmodelled", (error,))
    assert "kernel.1" in failed.summary
    assert hint in failed.hint
