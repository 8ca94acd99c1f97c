"""The fenced blocks of an answer, and the names that go with them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_FILE = r"[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.[A-Za-z0-9_]+"
_MOST_NAME = 200
"""Longer lines name nothing, and would keep the patterns busy."""
_INFORMATION = re.compile(rf".*?(?<![\w./-])({_FILE})")
_TITLE = re.compile(rf"^[^\w./]*(?:\d+[.)]\W*)?(?:file(?:name)?\W+)?({_FILE})\W*$", re.IGNORECASE)
_COMMENT = re.compile(rf"^\s*(?://|#|/\*)\s*(?:file(?:name)?:\s*)?({_FILE})\s*(?:\*/)?\s*$")


class Block(NamedTuple):
    name: str
    """Empty where nothing names it."""
    language: str
    text: str
    closed: bool


def blocks(answer: str) -> Iterator[Block]:
    """As CommonMark has it: a fence ends at one of its kind that is at least as long."""
    lines = lines_of(answer)
    title, position = "", 0
    while position < len(lines):
        line = lines[position]
        position += 1
        opening = _FENCE.match(line)
        if opening is None:
            title = line if line.strip() else title
            continue
        fence, information = opening.groups()
        body = []
        while position < len(lines) and not _closes(lines[position], fence):
            body.append(lines[position])
            position += 1
        closed = position < len(lines)
        position += 1
        yield _block(title, information, body, closed)
        title = ""


def lines_of(text: str) -> list[str]:
    """By newlines only: what else ends a line for Python may stand in the middle of code."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and stripped == fence[0] * len(stripped)


def _block(title: str, information: str, body: list[str], closed: bool) -> Block:
    text = "\n".join(body) + "\n" if body else ""
    language = re.split(r"[\s:]", information.strip(), maxsplit=1)[0]
    return Block(_name(title, information, body[0] if body else ""), language, text, closed)


def _name(title: str, information: str, first: str) -> str:
    """By its title, by what follows its fence, or by a comment in its first line."""
    for pattern, line in ((_TITLE, title.strip()), (_INFORMATION, information), (_COMMENT, first)):
        found = pattern.match(line) if len(line) <= _MOST_NAME else None
        if found is not None:
            return str(found[1])
    return ""
