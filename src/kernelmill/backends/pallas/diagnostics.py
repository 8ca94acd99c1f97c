"""Classification of JAX, Mosaic and libtpu errors: a kind, the lines that matter, a hint."""

import re
from typing import NamedTuple

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import RunFailed
from kernelmill.records.verdict import LOST
from kernelmill.sandbox import SandboxCrashed
from kernelmill.sandbox.serving import ProgramFailed

_MAX_LINES = 6
_MAX_WIDTH = 300
_MAX_MESSAGE = 600
UNMODELLED = "unmodelled"
_PROFILER_ERROR = re.compile(r"Static LLO profiling of (\S+) failed: (.+)")
_FATAL_LINE = re.compile(r"^F\d{4} [^\]]*\] (.+)$", re.MULTILINE)


class _ErrorClass(NamedTuple):
    pattern: re.Pattern[str]
    kind: str
    hint: str


class _Classified(NamedTuple):
    kind: str
    hint: str


def _error_class(pattern: str, kind: str, hint: str) -> _ErrorClass:
    return _ErrorClass(re.compile(pattern, re.IGNORECASE), kind, hint)


_ERROR_CLASSES = (
    _error_class(
        r"vmem.*(exceed|out of|limit|exhaust)|(exceed|out of|exhaust).*vmem|scoped allocation",
        "vmem",
        "smaller blocks: every block counts twice (double buffering), scratch once; or raise "
        "vmem_limit_bytes in CompilerParams",
    ),
    _error_class(
        r"smem.*(exceed|out of|limit|exhaust)|(exceed|out of|exhaust|ran out).*smem",
        "smem",
        "only small scalars belong in SMEM",
    ),
    _error_class(r"(exceed|out of|exhaust|ran out).*(hbm|memory)", "memory", "use less memory"),
    _error_class(
        r"divisible by (8|16|32) and 128|last two dimensions",
        "block-shape",
        "the last two sizes of a block: multiples of 8 and 128, or those of the array; else pad it",
    ),
    _error_class(
        r"unimplemented primitive|not implemented|unsupported (lowering|primitive)|unimplemented",
        "unimplemented",
        "Mosaic has no such operation: express it with others (see the guide)",
    ),
    _error_class(
        r"cannot (statically )?prove.*(aligned|multiple)|misaligned|not aligned|unaligned",
        "alignment",
        "slices of refs start at multiples of 8 rows and 128 lanes: pl.multiple_of(i, 8)",
    ),
    _error_class(
        r"invalid (vector|offset|layout)|shape cast|relayout|layout",
        "layout",
        "keep two or more dimensions, the last 128 wide; reduce with keepdims=True",
    ),
)

_SCALARS_HINT = "pass scalars to SMEM through a BlockSpec of their own"
_DIVISION = "MultiplyHigh"
_SHARED_GRID_HINT = (
    "two cores split the parallel axes of its grid by a division that has no cycle count: use "
    'other block sizes along them, or "arbitrary"'
)
_CRASH_HINT = (
    "a shape or layout that Mosaic does not expect: use simpler blocks, multiples of 8 and 128"
)
_BIT_SPLIT = "Expected vector-int"
_BIT_SPLIT_HINT = (
    "floats are split before a product, by their bits or into bfloat16: keep float32 and multiply "
    "at HIGHEST"
)


def trace_failure(failed: ProgramFailed) -> BuildFailed:
    """An error of the candidate's Python, or of JAX's checks, while tracing."""
    kind, hint = _classify(failed.message, "trace-error")
    return BuildFailed(kind, _summary(failed), tuple(failed.lines), hint)


def compile_failure(failed: ProgramFailed) -> BuildFailed:
    kind, hint = _classify(failed.message, "compile-error")
    return BuildFailed(kind, _summary(failed), _evidence(failed.message), hint)


def crash_failure(failure: SandboxCrashed, printed: str) -> BuildFailed:
    """The compiler ended its process; `printed` is its log."""
    if error := _PROFILER_ERROR.search(printed):
        summary = f"the cycle model has no estimate for {error[1]}"
        hint = _SHARED_GRID_HINT if _DIVISION in error[2] else _SCALARS_HINT
        return BuildFailed(UNMODELLED, summary, (error[2][:_MAX_WIDTH],), hint)
    fatal = (match[1].strip()[:_MAX_WIDTH] for match in _FATAL_LINE.finditer(printed))
    lines = tuple(dict.fromkeys(fatal))
    ended = f"was killed by {failure.signal_name}" if failure.signal_name else "ended"
    hint = _BIT_SPLIT_HINT if any(_BIT_SPLIT in line for line in lines) else _CRASH_HINT
    kind = LOST if failure.killed_from_outside else "crash"
    return BuildFailed(kind, f"the compiler {ended}", lines[:_MAX_LINES], hint)


def interpreter_failure(failed: ProgramFailed) -> RunFailed:
    """An error with which the interpreter stopped the kernel."""
    if "out-of-bounds" in failed.message.lower():
        access = failed.message.partition(": ")[2].replace("slice(", "(")[:_MAX_MESSAGE]
        hint = "keep every index inside its ref; blocks at the edge extend beyond the array"
        return RunFailed("out-of-bounds", access, (), hint)
    return RunFailed("exception", _summary(failed), _evidence(failed.message))


def _classify(message: str, default: str) -> _Classified:
    for known in _ERROR_CLASSES:
        if known.pattern.search(message):
            return _Classified(known.kind, known.hint)
    return _Classified(default, "")


def _summary(failed: ProgramFailed) -> str:
    first = next((line for line in failed.message.splitlines() if line.strip()), "")
    return f"{failed.error}: {first.strip()[:_MAX_MESSAGE]}"


def _evidence(message: str) -> tuple[str, ...]:
    lines = [line.strip()[:_MAX_WIDTH] for line in message.splitlines() if line.strip()]
    return tuple(lines[1 : 1 + _MAX_LINES])
