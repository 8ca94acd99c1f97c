"""What goes wrong with an operator, told from the logs of CANN's tools and run time."""

import functools
import re
from pathlib import Path

import msgspec

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.cpp.diagnostics import first_errors

_FILE = Path(__file__).with_name("failures.yaml")
_TELLING = re.compile(r"error|ERROR|failed|errorStr|EZ\d{4}|Illegal|out of bounds", re.ASCII)
_NOISE = re.compile(r"^make(?:\[\d+\])?: |TraceBack|Rectify the fault|^\s*\^~*\s*$")
_STAMP = re.compile(r"\[PID: ?\d+\] ?|\d{4}-\d\d-\d\d[- ][\d:.]+ ?(?:\(\d+\) - )?")
_MOST_LINES = 8
_WIDTH = 240


class Failure(msgspec.Struct, frozen=True):
    """A way to fail: how it shows, what it means, what to do."""

    kind: str
    pattern: str
    summary: str
    hint: str
    steps: tuple[str, ...] = ()


class Diagnosed(msgspec.Struct, frozen=True):
    """One failure, in words a generator can act on."""

    kind: str
    summary: str
    evidence: tuple[str, ...]
    hint: str

    def build_failed(self) -> BuildFailed:
        return BuildFailed(self.kind, self.summary, self.evidence, self.hint)


def diagnose(step: str, log: str) -> Diagnosed:
    """Why a step of the build failed; `run` is the step in which the operator runs."""
    for failure in failures():
        if (not failure.steps or step in failure.steps) and re.search(failure.pattern, log):
            return Diagnosed(failure.kind, failure.summary, _evidence(log), failure.hint)
    return Diagnosed(step, f"{step} fails", _evidence(log), "")


@functools.cache
def failures() -> tuple[Failure, ...]:
    return msgspec.yaml.decode(_FILE.read_bytes(), type=tuple[Failure, ...])


def _evidence(log: str) -> tuple[str, ...]:
    """The errors of a compiler with the lines below them; else the lines that speak of trouble."""
    if re.search(r":\d+:\d+: (?:fatal )?error:", log):
        return first_errors(log)
    lines = [_STAMP.sub("", line).strip() for line in log.splitlines() if not _NOISE.search(line)]
    telling = [line for line in lines if _TELLING.search(line)] or [line for line in lines if line]
    return tuple(line[:_WIDTH] for line in telling[:_MOST_LINES])
