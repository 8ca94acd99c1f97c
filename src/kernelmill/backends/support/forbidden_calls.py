"""Feedback on calls that a candidate's forward must not make."""

from kernelmill.backends.modelled import RunFailed
from kernelmill.sandbox.serving import ProgramFailed

FORBIDDEN_CALL = "ForbiddenCall"
"""How a sandbox names the exception; its class needs the framework, which this process never
imports."""


def forbidden_call_failure(failed: ProgramFailed) -> RunFailed:
    """The failure of a run in which a sandbox raised `meta_trace.ForbiddenCall`."""
    lines = tuple(line[:200] for line in failed.lines)
    if "framework" in failed.message:
        hint = "allocate and view with the framework; compute in kernels"
        return RunFailed("framework-compute", failed.message, lines, hint)
    if "launches no kernel" in failed.message:
        return RunFailed("no-kernel", failed.message, (), "compute in a kernel")
    return RunFailed("contract", failed.message, lines)
