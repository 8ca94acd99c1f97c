"""Classification of failures of the vendor's compiler, interpreter and simulator."""

import re

from kernelmill.backends.base import BuildFailed, CandidateFailed
from kernelmill.backends.modelled import RunFailed
from kernelmill.backends.support.launch_failures import exception_failure
from kernelmill.sandbox.serving import ProgramFailed

_OVERFLOW = re.compile(
    r"[Aa]lloc tensor (?:\[\d+\] )?size \[(\d+)\] exceeds (MEM_\w+) size \[(\d+)\]"
)
_ERROR_LINE = re.compile(r"ERROR|[Ee]rror|exceed|invalid|not support|must ", re.ASCII)
_LOG_PREFIX = re.compile(r"^\[ERROR\] PYPTO\(\d+\):[\d\s:.-]+(?:\[[^\]]*\]:?)*")
_MAX_LINES = 6
_MAX_WIDTH = 240


def simulator_failure(failed: ProgramFailed) -> CandidateFailed:
    """A failure while compiling, interpreting or simulating a kernel."""
    if found := _OVERFLOW.search(failed.message):
        return _overflow(found)
    if failed.error == "CompilerError":
        lines = [_LOG_PREFIX.sub("", line).strip() for line in failed.message.splitlines()]
        errors = [line for line in lines if _ERROR_LINE.search(line)] or list(filter(None, lines))
        evidence = tuple(line[:_MAX_WIDTH] for line in errors[:_MAX_LINES])
        return BuildFailed("compile-error", "PyPTO refuses the kernel", evidence)
    if failed.error == "KeyError":
        return RunFailed("contract", f"there is no kernel {failed.message}", ())
    return exception_failure(failed)


def _overflow(found: re.Match[str]) -> BuildFailed:
    needed, memory, available = found.groups()
    name = memory.removeprefix("MEM_")
    return BuildFailed(
        f"{name.lower()}-overflow",
        f"a tile needs {needed} bytes of {name}, which has {available}",
        (found[0],),
        "smaller tiles: set_vec_tile_shapes for vectors, set_cube_tile_shapes for products",
    )
