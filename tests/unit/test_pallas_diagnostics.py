"""What JAX, Mosaic and libtpu really said, and what is made of it."""

import signal

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.diagnostics import compile_failure, crash_failure, run_failure
from kernelmill.backends.pallas.modelling import MODEL, model
from kernelmill.backends.pallas.protocol import Compiled, UnitUse
from kernelmill.sandbox import CellCrashed
from kernelmill.sandbox.serving import Failed

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
        ("something nobody has seen", "compile-error"),
    ],
)
def test_a_message_has_a_class(message: str, kind: str) -> None:
    failed = compile_failure(Failed("JaxRuntimeError", message, []))
    assert failed.kind == kind
    assert message[:40] in failed.summary
    assert bool(failed.hint) == (kind != "compile-error")


def test_the_profilers_last_words_are_found() -> None:
    failed = crash_failure(CellCrashed(None, signal.SIGABRT, ""), PROFILER)
    assert failed.kind == "unmodelled"
    assert "gather_fusion" in failed.summary
    assert "Unsupported DMA direction" in failed.evidence[0]


def test_a_crash_without_words_is_a_crash() -> None:
    failed = crash_failure(CellCrashed(None, signal.SIGABRT, ""), "")
    assert failed.kind == "crash"
    assert "SIGABRT" in failed.summary


def test_out_of_bounds_is_told_apart() -> None:
    message = "IndexError: Out-of-bounds read of (0 0 vmem 102): reading [(slice(64, 72, 1))]"
    assert run_failure(Failed("Stopped", message, [])).kind == "out-of-bounds"
    assert run_failure(Failed("ValueError", "no", [])).kind == "exception"


def test_the_longer_of_computing_and_moving_counts() -> None:
    chip = CHIPS["v5e"]
    use = UnitUse("kernel", 1500, 10, {"VALU": 0.5, "MXU": 0.1})
    computing = model(Compiled([use], 8, {"kernel": [4, 2]}, 0), chip)
    assert computing.milliseconds == pytest.approx(1e-3)
    assert list(computing.units) == ["VALU", "MXU"]
    assert any("8 steps" in note for note in computing.notes)
    moving = model(Compiled([use], 819_000_000, {}, 2), chip)
    assert moving.milliseconds == pytest.approx(1.0)
    assert "moving data" in moving.notes[0]
    assert any("2 loops" in note for note in moving.notes)


def test_the_model_is_called_by_the_version_that_is_installed() -> None:
    pins = get_backend("pallas").environment.pins()
    assert next(pin for pin in pins if pin.startswith("libtpu")).replace("==", " ") in MODEL
