"""Failures of traced candidates that need no knowledge of a tool chain, for the generator."""

from kernelmill.backends.base import CandidateFailed
from kernelmill.backends.modelled import RunFailed
from kernelmill.backends.support.forbidden_calls import FORBIDDEN_CALL, forbidden_call_failure
from kernelmill.sandbox.serving import ProgramFailed

_MAX_MESSAGE = 600
_MAX_WIDTH = 200


def forward_failure(failed: ProgramFailed) -> CandidateFailed:
    """An exception while forward was traced."""
    if failed.error == FORBIDDEN_CALL:
        return forbidden_call_failure(failed)
    return exception_failure(failed, tuple(line[:_MAX_WIDTH] for line in failed.lines))


def exception_failure(failed: ProgramFailed, evidence: tuple[str, ...] = ()) -> RunFailed:
    """An exception that nothing more is known about."""
    return RunFailed("exception", f"{failed.error}: {failed.message[:_MAX_MESSAGE]}", evidence)
