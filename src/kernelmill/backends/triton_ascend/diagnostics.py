"""Classification of failures of Triton, the vendor's compiler and the HIVM machine."""

import re

from kernelmill.backends.base import BuildFailed, CandidateFailed
from kernelmill.backends.modelled import RunFailed
from kernelmill.backends.support.launch_failures import exception_failure, forward_failure
from kernelmill.sandbox.serving import ProgramFailed

_TRITON_ERRORS = ("CompilationError", "UnsupportedLanguageConstruct", "MLIRCompilationError")
_OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available")
_ERROR = re.compile(r"error: (.*)")
_NOISE = re.compile(r"hivmc|External hivmc")
_MEMORIES = {"ub": "the unified buffer", "cbuf": "L1", "cc": "L0C", "l1": "L1", "l0c": "L0C"}
_MAX_TRITON_LINES = 8
_MAX_LINES = 4
_MAX_WIDTH = 240


def triton_failure(failed: ProgramFailed) -> CandidateFailed:
    """A failure of forward, or of Triton's own compiler, while tracing."""
    if failed.error in _TRITON_ERRORS:
        lines = [line.strip() for line in failed.message.splitlines() if line.strip()]
        evidence = tuple(lines[-_MAX_TRITON_LINES:])
        return BuildFailed("compile-error", "Triton refuses the kernel", evidence)
    return forward_failure(failed)


def hivm_failure(failed: ProgramFailed) -> CandidateFailed:
    """A failure while compiling to HIVM, or while executing it."""
    if failed.error == "CompilerError":
        return _compiler_failure(failed.message)
    if failed.error == "OutOfBounds":
        hint = "mask loads and stores, and check the last block"
        return RunFailed("out-of-bounds", f"a kernel accesses {failed.message}", (), hint)
    if failed.error == "Deadlock":
        return RunFailed("deadlock", failed.message, ())
    if failed.error in ("UnknownOperation", "Untranslatable", "UnsupportedOperands"):
        return RunFailed(
            "not-executable",
            f"it compiles to HIVM, but the HIVM cannot be executed here: {failed.message[:200]}",
            (),
            "use simpler operations: loads, arithmetic, exp, sqrt, sums, maxima, tl.dot",
        )
    return exception_failure(failed)


def _compiler_failure(log: str) -> BuildFailed:
    if found := _OVERFLOW.search(log):
        memory, needed, available = found[1].lower(), int(found[2]) // 8, int(found[3]) // 8
        name = _MEMORIES.get(memory, memory)
        return BuildFailed(
            f"{memory}-overflow",
            f"it needs {needed} bytes of {name}, which has {available}",
            (found[0],),
            "smaller blocks, or fewer values alive at once; double-buffered ones count twice",
        )
    errors = [line for line in _ERROR.findall(log) if not _NOISE.search(line)]
    lines = errors or [line for line in log.splitlines() if line.strip() and "hivmc" not in line]
    evidence = tuple(line.strip()[:_MAX_WIDTH] for line in lines[:_MAX_LINES])
    return BuildFailed("compile-error", "the compiler does not produce HIVM", evidence)
