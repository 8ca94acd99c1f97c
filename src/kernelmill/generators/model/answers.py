"""Parsing of an answer into the files of a candidate."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.edits import apply_edits, is_edit, parse_edits
from kernelmill.generators.model.fenced_blocks import FencedBlock, fenced_blocks
from kernelmill.generators.model.protocol import ModelAnswer, StopReason
from kernelmill.generators.model.templates import is_declaration, parse_template
from kernelmill.records.candidate import MODEL_FILE, SOURCE_SUFFIXES, Candidate, Origin
from kernelmill.records.errors import CandidateError
from kernelmill.records.sweep import SweepSpace

_LANGUAGES = frozenset("python py cpp c++ c cc cuda cu hpp h".split())
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Some servers leave the model's thinking in front of the answer."""
_APOLOGY = re.compile(r"\b(?:i'?m sorry|i can(?:not|.?t)|i am unable|as an ai)\b", re.IGNORECASE)
_REMARK = re.compile(
    r"^[^\w\n]*(approach|expect|used)[^\w\n]*:[^\w\n]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_MOST_REMARK_CHARACTERS = 300
_FILES_SHAPE = "give each file whole: its name on a line of its own, then a fenced block"


def demand_text(answer: ModelAnswer) -> str:
    """The text of a complete answer, without thinking. Raises UnusableAnswer."""
    if answer.stop is StopReason.REFUSAL:
        raise UnusableAnswer(
            CallProblem.REFUSED, "the model refused to answer", "answer the task as it stands"
        )
    if answer.stop is StopReason.ENDLESS:
        raise UnusableAnswer(
            CallProblem.TOO_LONG, "the answer did not end", "give the files once, and nothing else"
        )
    text = _THINKING.sub("", answer.text)
    if not text.strip():
        raise UnusableAnswer(
            CallProblem.EMPTY, "the answer is empty", "answer in the form asked for"
        )
    if answer.stop is StopReason.LENGTH:
        raise UnusableAnswer(
            CallProblem.CUT_SHORT,
            "the answer reached the token limit before its end",
            "write less beside the files, or change them by edits",
        )
    return text


class ParsedCandidate(NamedTuple):
    candidate: Candidate
    space: SweepSpace | None = None
    """Where the answer is a template; the candidate is that of its first values."""


def parse_candidate(
    answer: ModelAnswer,
    before: Mapping[str, str],
    name: str,
    entry: str = MODEL_FILE,
    templates: bool = True,
) -> ParsedCandidate:
    """A candidate from whole files and edits; other files of `before` stay as they are.

    Raises UnusableAnswer; also for a template, where those are not wanted.
    """
    text = demand_text(answer)
    given = list(fenced_blocks(text))
    declarations = [block for block in given if is_declaration(block)]
    blocks = [block for block in given if not is_declaration(block) and not _is_prose(block)]
    if not blocks:
        refused = _APOLOGY.search(text) is not None
        problem = CallProblem.REFUSED if refused else CallProblem.NO_BLOCK
        raise UnusableAnswer(problem, "the answer has no fenced block with a file", _FILES_SHAPE)
    files = _changed(blocks, before)
    if entry not in files:
        raise UnusableAnswer(
            CallProblem.MISSING_FILE, f"the candidate has no {entry}", _FILES_SHAPE
        )
    if declarations and not templates:
        raise UnusableAnswer(
            CallProblem.BAD_TEMPLATE,
            "a sweep block was given, and nothing would measure its values",
            "write plain values, and no sweep block",
        )
    touched = {name: text for name, text in files.items() if before.get(name) != text}
    space = parse_template(declarations, files, touched)
    if space is not None:
        files = space.filled(space.defaults)
    if files == dict(before):
        raise UnusableAnswer(
            CallProblem.UNCHANGED,
            "the files are the same as those shown",
            "change at least one of them",
        )
    try:
        return ParsedCandidate(Candidate(files, Origin.MODEL, name), space)
    except CandidateError as error:
        raise UnusableAnswer(CallProblem.UNKNOWN_FILE, str(error), _FILES_SHAPE) from error


def find_remark(answer: str, label: str) -> str:
    """The line `Approach: ...`, `Expect: ...` or `Used: ...`; empty where there is none."""
    for found, text in _REMARK.findall(answer):
        if found.lower() == label:
            return str(text)[:_MOST_REMARK_CHARACTERS].strip()
    return ""


def _is_prose(block: FencedBlock) -> bool:
    """Whether a block is a sketch or a command line, rather than source without a name."""
    return block.closed and not block.name and block.language.lower() not in _LANGUAGES


def _changed(blocks: list[FencedBlock], before: Mapping[str, str]) -> dict[str, str]:
    files = dict(before)
    whole: set[str] = set()
    for block in blocks:
        if not block.closed:
            raise UnusableAnswer(
                CallProblem.CUT_SHORT,
                f"the block {block.name or 'at the end'} has no closing fence",
                _FILES_SHAPE,
            )
        if not block.name:
            first = block.text.strip().splitlines()[:1]
            raise UnusableAnswer(
                CallProblem.UNNAMED_BLOCK,
                f"no file name is given for the block that begins {first}",
                _FILES_SHAPE,
            )
        if is_edit(block.text):
            files[block.name] = _edited(block, files)
        elif block.name in whole:
            raise UnusableAnswer(CallProblem.TWICE, f"{block.name} is given twice", _FILES_SHAPE)
        elif not block.name.endswith(SOURCE_SUFFIXES):
            raise UnusableAnswer(
                CallProblem.UNKNOWN_FILE,
                f"{block.name} cannot be a file of a candidate",
                _FILES_SHAPE,
            )
        else:
            whole.add(block.name)
            files[block.name] = block.text
    return files


def _edited(block: FencedBlock, files: Mapping[str, str]) -> str:
    if block.name not in files:
        known = ", ".join(files) or "none"
        raise UnusableAnswer(
            CallProblem.UNKNOWN_FILE,
            f"{block.name} is edited, but there is no such file; the files are: {known}",
            "edit a file that was shown, or give a new one whole",
        )
    edits = parse_edits(block.name, block.text)
    return apply_edits(block.name, files[block.name], edits)
