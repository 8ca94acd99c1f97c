"""Classification of recorded messages of JAX, Mosaic and libtpu, and the cost model."""

import signal

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.cost_model import LIBTPU_MODEL, estimate_call
from kernelmill.backends.pallas.diagnostics import (
    compile_failure,
    crash_failure,
    interpreter_failure,
)
from kernelmill.backends.pallas.protocol import CompiledKernel, OperationProfile
from kernelmill.sandbox import SandboxCrashed
from kernelmill.sandbox.serving import ProgramFailed

PROFILER = """
F1115 16:50:25.869158 28374 llo_dumper.cc:1585] Static LLO profiling of gather_fusion failed: \
INVALID_ARGUMENT: Unsupported DMA direction: 10 on VL/VLP
=== Source Location Trace: ===
"""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            "The Pallas TPU lowering currently requires that the last two dimensions of your block "
            "shape are divisible by 8 and 128 respectively, or be equal to those of the array",
            "block-shape",
        ),
        ("Unimplemented primitive in Pallas TPU lowering for tc: sort", "unimplemented"),
        (
            "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack",
            "vmem",
        ),
        ("an unknown message", "compile-error"),
    ],
)
def test_a_message_has_a_class(message: str, kind: str) -> None:
    failed = compile_failure(ProgramFailed("JaxRuntimeError", message, []))
    assert failed.kind == kind
    assert message[:40] in failed.summary
    assert bool(failed.hint) == (kind != "compile-error")


def test_a_profiler_error_is_found_in_the_log() -> None:
    failed = crash_failure(SandboxCrashed(None, signal.SIGABRT, ""), PROFILER)
    assert failed.kind == "unmodelled"
    assert "gather_fusion" in failed.summary
    assert "Unsupported DMA direction" in failed.evidence[0]


def test_a_crash_without_a_log_is_a_crash() -> None:
    failed = crash_failure(SandboxCrashed(None, signal.SIGABRT, ""), "")
    assert failed.kind == "crash"
    assert "SIGABRT" in failed.summary


def test_out_of_bounds_is_classified() -> None:
    message = "IndexError: Out-of-bounds read of (0 0 vmem 102): reading [(slice(64, 72, 1))]"
    assert (
        interpreter_failure(ProgramFailed("InterpreterError", message, [])).kind == "out-of-bounds"
    )
    assert interpreter_failure(ProgramFailed("ValueError", "no", [])).kind == "exception"


def test_the_longer_of_compute_and_memory_time_counts() -> None:
    chip = CHIPS["v5e"]
    profile = OperationProfile("kernel", 1500, 10, {"VALU": 0.5, "MXU": 0.1})
    computing = estimate_call(CompiledKernel([profile], 8, {"kernel": [4, 2]}, 0), chip)
    assert computing.milliseconds == pytest.approx(1e-3)
    assert list(computing.units) == ["VALU", "MXU"]
    assert any("8 steps" in note for note in computing.notes)
    moving = estimate_call(CompiledKernel([profile], 819_000_000, {}, 2), chip)
    assert moving.milliseconds == pytest.approx(1.0)
    assert "moving data" in moving.notes[0]
    assert any("2 loops" in note for note in moving.notes)


def test_the_model_is_named_after_the_pinned_version() -> None:
    pins = get_backend("pallas").environment.pins()
    assert next(pin for pin in pins if pin.startswith("libtpu")).replace("==", " ") in LIBTPU_MODEL
