"""What the tool chain says, as a class of failure, the lines that matter, and a cure."""

import re
from typing import NamedTuple

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import RunFailed
from kernelmill.sandbox import CellCrashed
from kernelmill.sandbox.serving import Failed

_MOST_LINES = 6
_WIDTH = 300
_MESSAGE = 600
UNMODELLED = "unmodelled"
_UNPROFILED = re.compile(r"Static LLO profiling of (\S+) failed: (.+)")
_LAST_WORDS = re.compile(r"^F\d{4} [^\]]*\] (.+)$", re.MULTILINE)


class _Known(NamedTuple):
    pattern: re.Pattern[str]
    kind: str
    hint: str


def _known(pattern: str, kind: str, hint: str) -> _Known:
    return _Known(re.compile(pattern, re.IGNORECASE), kind, hint)


_KNOWN = (
    _known(
        r"vmem.*(exceed|out of|limit|exhaust)|(exceed|out of|exhaust).*vmem|scoped allocation",
        "vmem",
        "smaller blocks: every block counts twice (double buffering), scratch once; or raise "
        "vmem_limit_bytes in CompilerParams",
    ),
    _known(
        r"smem.*(exceed|out of|limit|exhaust)|(exceed|out of|exhaust|ran out).*smem",
        "smem",
        "only small scalars belong in SMEM",
    ),
    _known(
        r"(exceed|out of|exhaust|ran out).*(hbm|memory)", "memory", "it needs less memory than that"
    ),
    _known(
        r"divisible by (8|16|32) and 128|last two dimensions",
        "block-shape",
        "the last two sizes of a block: multiples of 8 and 128, or the array's own; else pad it",
    ),
    _known(
        r"unimplemented primitive|not implemented|unsupported (lowering|primitive)|unimplemented",
        "unimplemented",
        "Mosaic has no such operation: write it with others (see the guide)",
    ),
    _known(
        r"cannot (statically )?prove.*(aligned|multiple)|misaligned|not aligned|unaligned",
        "alignment",
        "slices of refs begin at multiples of 8 rows and 128 lanes: pl.multiple_of(i, 8)",
    ),
    _known(
        r"invalid (vector|offset|layout)|shape cast|relayout|layout",
        "layout",
        "keep two or more dimensions, the last 128 wide; reduce with keepdims=True",
    ),
)

_SCALARS_HINT = "scalars into SMEM through a BlockSpec of their own"
_DIVISION = "MultiplyHigh"
_SHARED_GRID_HINT = (
    "two cores share the parallel axes of its grid by a division that cannot be counted: other "
    'block sizes along them, or "arbitrary"'
)
_CRASH_HINT = (
    "a shape or layout that Mosaic does not expect: simpler blocks, multiples of 8 and 128"
)
_SPLIT = "Expected vector-int"
_SPLIT_HINT = (
    "floats taken apart on their way into a product, by their bits or into bfloat16: keep float32, "
    "multiply at HIGHEST"
)


def trace_failure(failed: Failed) -> BuildFailed:
    """The candidate's Python, or JAX's own checks, while it was traced."""
    kind, hint = _class(failed.message, "trace-error")
    return BuildFailed(kind, _summary(failed), tuple(failed.lines), hint)


def compile_failure(failed: Failed) -> BuildFailed:
    kind, hint = _class(failed.message, "compile-error")
    return BuildFailed(kind, _summary(failed), _evidence(failed.message), hint)


def crash_failure(failure: CellCrashed, printed: str) -> BuildFailed:
    """The compiler has ended the process: its last words are in what it printed."""
    if unprofiled := _UNPROFILED.search(printed):
        summary = f"the cycle model cannot say what {unprofiled[1]} takes"
        hint = _SHARED_GRID_HINT if _DIVISION in unprofiled[2] else _SCALARS_HINT
        return BuildFailed(UNMODELLED, summary, (unprofiled[2][:_WIDTH],), hint)
    said = (match[1].strip()[:_WIDTH] for match in _LAST_WORDS.finditer(printed))
    words = tuple(dict.fromkeys(said))
    ended = f"was killed by {failure.signal_name}" if failure.signal_name else "ended"
    hint = _SPLIT_HINT if any(_SPLIT in word for word in words) else _CRASH_HINT
    return BuildFailed("crash", f"the compiler {ended}", words[:_MOST_LINES], hint)


def run_failure(failed: Failed) -> RunFailed:
    """The interpreter has stopped the kernel."""
    if "out-of-bounds" in failed.message.lower():
        said = failed.message.partition(": ")[2].replace("slice(", "(")[:_MESSAGE]
        hint = "keep every index inside its ref; blocks at the edge hang over the array"
        return RunFailed("out-of-bounds", said, (), hint)
    return RunFailed("exception", _summary(failed), _evidence(failed.message))


def _class(message: str, default: str) -> tuple[str, str]:
    for known in _KNOWN:
        if known.pattern.search(message):
            return known.kind, known.hint
    return default, ""


def _summary(failed: Failed) -> str:
    first = next((line for line in failed.message.splitlines() if line.strip()), "")
    return f"{failed.error}: {first.strip()[:_MESSAGE]}"


def _evidence(message: str) -> tuple[str, ...]:
    lines = [line.strip()[:_WIDTH] for line in message.splitlines() if line.strip()]
    return tuple(lines[1 : 1 + _MOST_LINES])
