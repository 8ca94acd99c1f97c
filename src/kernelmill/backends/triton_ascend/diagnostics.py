"""What the vendor's compiler, the machine and the tracer have against a kernel."""

import re

from kernelmill.backends.base import BuildFailed, CandidateFailed
from kernelmill.backends.misuse import misuse
from kernelmill.backends.modelled import RunFailed
from kernelmill.sandbox.serving import Failed

_OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available")
_ERROR = re.compile(r"error: (.*)")
_NOISE = re.compile(r"hivmc|External hivmc")
_MEMORIES = {"ub": "the unified buffer", "cbuf": "L1", "cc": "L0C", "l1": "L1", "l0c": "L0C"}
_MOST_LINES = 4
_WIDTH = 240


def trace_failure(failed: Failed) -> CandidateFailed:
    """What happened in forward, or in Triton's own compiler."""
    if failed.error == "Misuse":
        return misuse(failed)
    lines = tuple(line[:200] for line in failed.lines)
    if failed.error in ("CompilationError", "UnsupportedLanguageConstruct", "MLIRCompilationError"):
        said = [line.strip() for line in failed.message.splitlines() if line.strip()]
        return BuildFailed("compile-error", "Triton refuses the kernel", tuple(said[-8:]))
    return RunFailed("exception", f"{failed.error}: {failed.message[:600]}", lines)


def run_failure(failed: Failed) -> CandidateFailed:
    """What happened while compiling to HIVM, or executing that."""
    if failed.error == "CompilerRefuses":
        return _compiler_failure(failed.message)
    if failed.error == "OutOfBounds":
        hint = "mask loads and stores, and mind the last block"
        return RunFailed("out-of-bounds", f"a kernel reaches {failed.message}", (), hint)
    if failed.error == "Deadlock":
        return RunFailed("deadlock", failed.message, ())
    if failed.error in ("Unknown", "Untranslatable"):
        return RunFailed(
            "not-executable",
            f"it compiles to HIVM, but this cannot be executed here: {failed.message[:200]}",
            (),
            "write it with plainer operations: loads, arithmetic, exp, sqrt, sums, maxima, tl.dot",
        )
    return RunFailed("exception", f"{failed.error}: {failed.message[:600]}", ())


def _compiler_failure(log: str) -> BuildFailed:
    if found := _OVERFLOW.search(log):
        memory, needed, there = found[1].lower(), int(found[2]) // 8, int(found[3]) // 8
        name = _MEMORIES.get(memory, memory)
        return BuildFailed(
            f"{memory}-overflow",
            f"it needs {needed} bytes of {name}, which has {there}",
            (found[0],),
            "smaller blocks, or fewer values alive at once; two buffers count twice",
        )
    said = [line for line in _ERROR.findall(log) if not _NOISE.search(line)]
    lines = said or [line for line in log.splitlines() if line.strip() and "hivmc" not in line]
    evidence = tuple(line.strip()[:_WIDTH] for line in lines[:_MOST_LINES])
    return BuildFailed("compile-error", "the compiler does not make HIVM of it", evidence)
