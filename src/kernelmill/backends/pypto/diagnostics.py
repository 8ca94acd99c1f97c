"""What the vendor's library has against a kernel."""

import re

from kernelmill.backends.base import BuildFailed, CandidateFailed
from kernelmill.backends.misuse import misuse
from kernelmill.backends.modelled import RunFailed
from kernelmill.sandbox.serving import Failed

_OVERFLOW = re.compile(
    r"[Aa]lloc tensor (?:\[\d+\] )?size \[(\d+)\] exceeds (MEM_\w+) size \[(\d+)\]"
)
_TELLING = re.compile(r"ERROR|[Ee]rror|exceed|invalid|not support|must ", re.ASCII)
_STAMP = re.compile(r"^\[ERROR\] PYPTO\(\d+\):[\d\s:.-]+(?:\[[^\]]*\]:?)*")
_MOST_LINES = 6
_WIDTH = 240


def trace_failure(failed: Failed) -> CandidateFailed:
    """What happened in forward."""
    if failed.error == "Misuse":
        return misuse(failed)
    lines = tuple(line[:200] for line in failed.lines)
    return RunFailed("exception", f"{failed.error}: {failed.message[:600]}", lines)


def run_failure(failed: Failed) -> CandidateFailed:
    """What happened while compiling, interpreting or simulating."""
    if found := _OVERFLOW.search(failed.message):
        needed, memory, there = found.groups()
        return BuildFailed(
            f"{memory.removeprefix('MEM_').lower()}-overflow",
            f"a tile needs {needed} bytes of {memory.removeprefix('MEM_')}, which has {there}",
            (found[0],),
            "smaller tiles: set_vec_tile_shapes for vectors, set_cube_tile_shapes for products",
        )
    if failed.error == "CompilerRefuses":
        lines = [_STAMP.sub("", line).strip() for line in failed.message.splitlines()]
        telling = [line for line in lines if _TELLING.search(line)] or [
            line for line in lines if line
        ]
        evidence = tuple(line[:_WIDTH] for line in telling[:_MOST_LINES])
        return BuildFailed("compile-error", "PyPTO refuses the kernel", evidence)
    if failed.error == "KeyError":
        return RunFailed("contract", f"there is no kernel {failed.message}", ())
    return RunFailed("exception", f"{failed.error}: {failed.message[:600]}", ())
