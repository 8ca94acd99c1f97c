"""Failures of a traced forward, told apart by the name that a sandbox gives an exception."""

import pytest

from kernelmill.backends.support.forbidden_calls import FORBIDDEN_CALL
from kernelmill.backends.support.launch_failures import forward_failure
from kernelmill.backends.support.meta_trace import ForbiddenCall
from kernelmill.sandbox.serving import ProgramFailed


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("forward computes with the framework: add", "framework-compute"),
        ("forward launches no kernel", "no-kernel"),
        ("forward returns a list", "contract"),
    ],
)
def test_a_forbidden_call_has_a_kind_of_its_own(message: str, kind: str) -> None:
    failed = ProgramFailed(ForbiddenCall.__name__, message, [])
    assert failed.error == FORBIDDEN_CALL
    assert forward_failure(failed).kind == kind


def test_any_other_exception_is_told_as_it_is() -> None:
    failed = ProgramFailed("ZeroDivisionError", "division by zero", ["model.py:3: 1 / 0"])
    assert forward_failure(failed).kind == "exception"
