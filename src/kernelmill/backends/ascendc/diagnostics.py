"""Classification of failures by the logs of CANN's tools and run time."""

import functools
import re
from pathlib import Path

import msgspec

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.support.diagnostics import first_errors

_FILE = Path(__file__).with_name("failures.yaml")
_ERROR_LINE = re.compile(r"error|ERROR|failed|errorStr|EZ\d{4}|Illegal|out of bounds", re.ASCII)
_NOISE = re.compile(r"^make(?:\[\d+\])?: |TraceBack|Rectify the fault|^\s*\^~*\s*$")
_LOG_PREFIX = re.compile(r"\[PID: ?\d+\] ?|\d{4}-\d\d-\d\d[- ][\d:.]+ ?(?:\(\d+\) - )?")
_MAX_LINES = 8
_MAX_WIDTH = 240


class FailurePattern(msgspec.Struct, frozen=True):
    """An entry of `failures.yaml`: a pattern of a log, what it means and what to do."""

    kind: str
    pattern: str
    summary: str
    hint: str
    steps: tuple[str, ...] = ()


class LogDiagnosis(msgspec.Struct, frozen=True):
    """A classified failure, in words that a generator can act on."""

    kind: str
    summary: str
    evidence: tuple[str, ...]
    hint: str

    def build_failed(self) -> BuildFailed:
        return BuildFailed(self.kind, self.summary, self.evidence, self.hint)


def classify_log(step: str, log: str) -> LogDiagnosis:
    """The failure of a build step, or of the step `run`, which runs the operator."""
    for failure in failure_patterns():
        if (not failure.steps or step in failure.steps) and re.search(failure.pattern, log):
            return LogDiagnosis(failure.kind, failure.summary, _evidence(log), failure.hint)
    return LogDiagnosis(step, f"{step} fails", _evidence(log), "")


@functools.cache
def failure_patterns() -> tuple[FailurePattern, ...]:
    return msgspec.yaml.decode(_FILE.read_bytes(), type=tuple[FailurePattern, ...])


def _evidence(log: str) -> tuple[str, ...]:
    """A compiler's errors with the source lines below them; else the lines that report errors."""
    if re.search(r":\d+:\d+: (?:fatal )?error:", log):
        return first_errors(log)
    lines = [
        _LOG_PREFIX.sub("", line).strip() for line in log.splitlines() if not _NOISE.search(line)
    ]
    errors = [line for line in lines if _ERROR_LINE.search(line)] or [
        line for line in lines if line
    ]
    return tuple(line[:_MAX_WIDTH] for line in errors[:_MAX_LINES])
