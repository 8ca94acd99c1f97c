"""Foreign text made fit to be printed: no control characters, and no end of it."""

import re

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, turning
    "\ud800-\udfff\U000e0000-\U000e007f]"  # surrogates, tags
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_MOST_CHARACTERS = 4000
_CUT = " ..."


def clean_text(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The text with every control character but newline and tab replaced, cut where it is long."""
    if len(text) > most:
        text = f"{text[:most]}..."
    return _UNPRINTABLE.sub(_REPLACEMENT, text.replace("\r\n", "\n"))


def clean_line(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The same in one line."""
    return " ".join(clean_text(text, most).split())


def beginning(text: str, most: int) -> str:
    """The first words of a text as one line; a word is cut only if it alone is too long."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - len(_CUT)]
    words = head if line[len(head)] == " " else head.rpartition(" ")[0] or head
    return f"{words.rstrip()}{_CUT}"


def is_clean_line(text: str) -> bool:
    return text.isprintable() and not _UNPRINTABLE.search(text)


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
