"""Evidence of a refusal: error class, normalised message, and the lines of source it is about."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kernelmill.memory.items import FAILURE
from kernelmill.records.candidate import Candidate
from kernelmill.records.proposal import Parent
from kernelmill.records.source_diff import source_diff
from kernelmill.records.verdict import Feedback, Gate, Verdict

_SIGNATURE_WORDS = 16
"""Words of an error message that distinguish it from others."""
_AROUND = 3
"""Lines of source shown before and after the one that a message names."""
_MOST_PLACES = 2
_MOST_DIFF_LINES = 40
_PLACE = re.compile(r'([\w./-]+\.\w{1,4}):(\d+)|File "([^"]+)", line (\d+)')
_PREFIX = re.compile(r"^[\w./-]+\.\w{1,4}(?::\d+)+:\s*")
"""The place in front of a compiler's message."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FOLDERS = re.compile(r"(?<![\w.])(?:/[\w.+-]+)+/")
_NUMBER = re.compile(r"(?<![A-Za-z_\d])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class FailureEvidence(NamedTuple):
    error: str
    """Gate and kind."""
    summary: str
    """The message as it was."""
    message: str
    """The same without addresses, folders and numbers."""
    excerpt: str

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for errors that differ in sizes only: they are one item."""
        return (FAILURE, self.error, _signature(self.summary))


def failure_evidence(
    verdict: Verdict, candidate: Candidate | None, parent: Parent | None
) -> FailureEvidence:
    """Evidence of a verdict that refused a candidate."""
    first = verdict.feedback[0]
    excerpt = ""
    if candidate is not None:
        excerpt = _excerpt(first, candidate.files) or _offending_change(candidate, parent)
    error, message = f"{first.gate} {first.kind}", _message(first)
    return FailureEvidence(error, message, normalised(message), excerpt)


def _message(feedback: Feedback) -> str:
    """The summary; with a compiler's first complaint, since the summary of all of them is alike."""
    if feedback.gate is not Gate.BUILD or not feedback.evidence:
        return feedback.summary
    complaint = _PREFIX.sub("", feedback.evidence[0]).strip()
    return f"{feedback.summary}: {complaint}" if complaint else feedback.summary


def normalised(message: str) -> str:
    """A message without what differs between two occurrences of one error."""
    message = _FOLDERS.sub("", _ADDRESS.sub("ADDRESS", message))
    return " ".join(_NUMBER.sub("N", message).split())


def _signature(message: str) -> str:
    """The first words of a message without its numbers."""
    return " ".join(re.findall(r"[A-Za-z_]+", message)[:_SIGNATURE_WORDS])


def _excerpt(feedback: Feedback, files: Mapping[str, str]) -> str:
    """The lines around the places that a message names; empty where it names none."""
    named = {name.rpartition("/")[2]: name for name in files}
    parts: dict[str, str] = {}
    for found in _PLACE.finditer("\n".join((feedback.summary, *feedback.evidence))):
        file, line = (found[1], found[2]) if found[1] else (found[3], found[4])
        name = named.get(file.rpartition("/")[2])
        if name is not None and len(parts) < _MOST_PLACES:
            parts.setdefault(f"{name}:{line}", _around(files[name], int(line)))
    return "\n".join(f"{place}\n{lines}" for place, lines in parts.items() if lines)


def _around(text: str, line: int) -> str:
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    first = max(1, line - _AROUND)
    shown = enumerate(lines[first - 1 : line + _AROUND], first)
    return "\n".join(f"{'>' if number == line else ' '} {text}" for number, text in shown)


def _offending_change(candidate: Candidate, parent: Parent | None) -> str:
    """The change from a parent that passed."""
    if parent is None or not parent.verdict.passed:
        return ""
    return source_diff(parent.candidate.files, candidate.files, _MOST_DIFF_LINES)
