"""What a forward may not do, in words for the generator."""

from kernelmill.backends.modelled import RunFailed
from kernelmill.sandbox.serving import Failed


def misuse(failed: Failed) -> RunFailed:
    """Of a `valueless.Misuse` that was raised in a cell."""
    lines = tuple(line[:200] for line in failed.lines)
    if "framework" in failed.message:
        hint = "allocate and view with the framework; compute in kernels"
        return RunFailed("framework-compute", failed.message, lines, hint)
    if "launches no kernel" in failed.message:
        return RunFailed("no-kernel", failed.message, (), "compute in a kernel")
    return RunFailed("contract", failed.message, lines)
