"""Static rules applied to the Python files of a candidate."""

from collections.abc import Callable
from pathlib import PurePosixPath

from kernelmill.backends.base import RuleFinding
from kernelmill.records.candidate import Candidate

SourceCheck = Callable[[str, str], list[RuleFinding]]
"""Checks a text, given with the name of its file."""


def check_python_files(candidate: Candidate, check: SourceCheck) -> list[RuleFinding]:
    return [
        finding
        for file, text in candidate.files.items()
        if PurePosixPath(file).suffix == ".py"
        for finding in check(text, file)
    ]
