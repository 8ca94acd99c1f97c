"""From the text of an answer to the files of a candidate."""

import re
from collections.abc import Mapping

from kernelmill.candidate import MODEL_FILE, SUFFIXES, Candidate, Origin
from kernelmill.errors import CandidateError
from kernelmill.generators.model.blocks import Block, blocks
from kernelmill.generators.model.edits import apply_edits, is_edit, parse_edits
from kernelmill.generators.model.problems import Malformed, Problem
from kernelmill.generators.model.protocol import Answer, Stop

_LANGUAGES = frozenset("python py cpp c++ c cc cuda cu hpp h".split())
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Some servers leave it in front of the answer."""
_APOLOGY = re.compile(r"\b(?:i'?m sorry|i can(?:not|.?t)|i am unable|as an ai)\b", re.IGNORECASE)
_REMARK = re.compile(
    r"^[^\w\n]*(approach|expect)[^\w\n]*:[^\w\n]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_MOST_REMARK = 300
_FILES_SHAPE = "give each file whole: its name on a line of its own, then a fenced block"


def demand_text(answer: Answer) -> str:
    """The text of an answer that came to its end. Raises Malformed."""
    if answer.stop is Stop.REFUSAL:
        raise Malformed(Problem.REFUSED, "no answer was given", "answer the task as it stands")
    if answer.stop is Stop.ENDLESS:
        raise Malformed(
            Problem.TOO_LONG, "the answer went on and on", "give the files and nothing else, once"
        )
    text = _THINKING.sub("", answer.text)
    if not text.strip():
        raise Malformed(Problem.EMPTY, "the answer holds no text", "answer in the shape asked for")
    if answer.stop is Stop.LENGTH:
        raise Malformed(
            Problem.CUT_SHORT,
            "the answer was longer than it may be and lost its end",
            "say less beside the files, or change them by edits",
        )
    return text


def parse_candidate(
    answer: Answer, before: Mapping[str, str], name: str, entry: str = MODEL_FILE
) -> Candidate:
    """A candidate from whole files and edits; what is not mentioned stays. Raises Malformed."""
    text = demand_text(answer)
    found = [block for block in blocks(text) if not _is_prose(block)]
    if not found:
        refused = _APOLOGY.search(text) is not None
        problem = Problem.REFUSED if refused else Problem.NO_BLOCK
        raise Malformed(problem, "the answer holds no fenced block with a file", _FILES_SHAPE)
    files = _changed(found, before)
    if entry not in files:
        raise Malformed(Problem.MISSING_FILE, f"there is no {entry}", _FILES_SHAPE)
    if files == dict(before):
        raise Malformed(
            Problem.UNCHANGED, "the files are those that were shown", "change something, or say why"
        )
    try:
        return Candidate(files, Origin.MODEL, name)
    except CandidateError as error:
        raise Malformed(Problem.UNKNOWN_FILE, str(error), _FILES_SHAPE) from error


def remark(answer: str, kind: str) -> str:
    """What it says of its `approach`, or of what it lets `expect`; empty where it says nothing."""
    for found, words in _REMARK.findall(answer):
        if found.lower() == kind:
            return str(words)[:_MOST_REMARK].strip()
    return ""


def _is_prose(block: Block) -> bool:
    """A sketch or a command line between the files; source without a name is something else."""
    return block.closed and not block.name and block.language.lower() not in _LANGUAGES


def _changed(found: list[Block], before: Mapping[str, str]) -> dict[str, str]:
    files = dict(before)
    whole: set[str] = set()
    for block in found:
        if not block.closed:
            raise Malformed(
                Problem.CUT_SHORT,
                f"the block {block.name or 'at the end'} is not closed",
                _FILES_SHAPE,
            )
        if not block.name:
            first = block.text.strip().splitlines()[:1]
            raise Malformed(
                Problem.UNNAMED_BLOCK, f"nothing names the block that begins {first}", _FILES_SHAPE
            )
        if is_edit(block.text):
            files[block.name] = _edited(block, files)
        elif block.name in whole:
            raise Malformed(Problem.TWICE, f"{block.name} is given twice", _FILES_SHAPE)
        elif not block.name.endswith(SUFFIXES):
            raise Malformed(
                Problem.UNKNOWN_FILE, f"{block.name} is no file of a candidate", _FILES_SHAPE
            )
        else:
            whole.add(block.name)
            files[block.name] = block.text
    return files


def _edited(block: Block, files: Mapping[str, str]) -> str:
    if block.name not in files:
        known = ", ".join(files) or "none"
        raise Malformed(
            Problem.UNKNOWN_FILE,
            f"{block.name} is edited, but there is no such file; there are: {known}",
            "edit a file that was shown, or give a new one whole",
        )
    edits = parse_edits(block.name, block.text)
    return apply_edits(block.name, files[block.name], edits)
