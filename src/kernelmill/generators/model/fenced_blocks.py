"""The fenced blocks of an answer, and the file names that go with them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_FILE = r"[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.[A-Za-z0-9_]+"
_MOST_NAME_LINE = 200
"""Longer lines name no file, and would keep the patterns busy."""
_INFO_STRING = re.compile(rf".*?(?<![\w./-])({_FILE})")
_TITLE = re.compile(rf"^[^\w./]*(?:\d+[.)]\W*)?(?:file(?:name)?\W+)?({_FILE})\W*$", re.IGNORECASE)
_COMMENT = re.compile(rf"^\s*(?://|#|/\*)\s*(?:file(?:name)?:\s*)?({_FILE})\s*(?:\*/)?\s*$")


class FencedBlock(NamedTuple):
    name: str
    """The file that it holds; empty where nothing names it."""
    language: str
    text: str
    closed: bool
    """Whether its closing fence is there."""


def fenced_blocks(answer: str) -> Iterator[FencedBlock]:
    """As in CommonMark: a fence of the same kind, at least as long, closes a block."""
    lines = split_lines(answer)
    title, position = "", 0
    while position < len(lines):
        line = lines[position]
        position += 1
        opening = _FENCE.match(line)
        if opening is None:
            title = line if line.strip() else title
            continue
        fence, info_string = opening.groups()
        body = []
        while position < len(lines) and not _closes(lines[position], fence):
            body.append(lines[position])
            position += 1
        closed = position < len(lines)
        position += 1
        yield _block(title, info_string, body, closed)
        title = ""


def split_lines(text: str) -> list[str]:
    """Split at newlines only: other line ends of Python may stand in the middle of code."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and stripped == fence[0] * len(stripped)


def _block(title: str, info_string: str, body: list[str], closed: bool) -> FencedBlock:
    text = "\n".join(body) + "\n" if body else ""
    language = re.split(r"[\s:]", info_string.strip(), maxsplit=1)[0]
    return FencedBlock(_name(title, info_string, body[0] if body else ""), language, text, closed)


def _name(title: str, info_string: str, first: str) -> str:
    """The file name in the title, behind the opening fence, or in a comment in the first line."""
    for pattern, line in ((_TITLE, title.strip()), (_INFO_STRING, info_string), (_COMMENT, first)):
        found = pattern.match(line) if len(line) <= _MOST_NAME_LINE else None
        if found is not None:
            return str(found[1])
    return ""
