"""What libtpu prints before it ends the process, as feedback. The words are recorded ones."""

import signal

import pytest

from kernelmill.backends.pallas.diagnostics import crash_failure
from kernelmill.sandbox import CellCrashed

_CHECK = "Check failed: TakeStatus() is OK (INTERNAL: LLO_CHECK failure "
_PACKED = f"{_CHECK}(llo_region.cc:393) Expected vector-int16, got vector-bf16packed"
_SHAPE = f"{_CHECK}(llo_window.cc:20) rank 1"


@pytest.mark.parametrize(("words", "cure"), [(_PACKED, "float32"), (_SHAPE, "simpler blocks")])
def test_a_compiler_that_aborts_leaves_its_last_words_and_a_cure(words: str, cure: str) -> None:
    printed = "\n".join([f"F1116 05:59:30.000 12 llo.cc:1] {words}", "*** stack ***"] * 2)
    failed = crash_failure(CellCrashed(None, signal.SIGABRT, ""), printed)
    assert (failed.kind, failed.evidence) == ("crash", (words,))
    assert "SIGABRT" in failed.summary
    assert cure in failed.hint


@pytest.mark.parametrize(
    ("instruction", "cure"), [("kScalarMultiplyHighU32", "block sizes"), ("kDmaHbmToSmem", "SMEM")]
)
def test_what_the_cycle_model_does_not_know_is_told_apart(instruction: str, cure: str) -> None:
    said = f"UNIMPLEMENTED: Unsupported llo instruction: {instruction}"
    printed = f"Static LLO profiling of kernel.1 failed: {said}\n"
    failed = crash_failure(CellCrashed(None, signal.SIGABRT, ""), printed)
    assert (failed.kind, failed.evidence) == ("unmodelled", (said,))
    assert "kernel.1" in failed.summary
    assert cure in failed.hint
