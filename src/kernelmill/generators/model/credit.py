"""Items that an answer makes use of: as the model says, checked against what it wrote."""

import re
from collections.abc import Mapping, Sequence

from kernelmill.records.proposal import Credit, Hint, HintCode
from kernelmill.records.source_diff import added_lines

_LEAST_CHARACTERS = 12
"""Shorter lines are in every source, and tell nothing."""
_LEAST_COPIED = 3
"""Lines of an item, found in an answer, that are use even where the model does not say so."""
_OFFENDING = re.compile(r"^> (.+)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w{3,}")


def find_credit(
    claimed: str,
    shown: Sequence[int],
    hints: Sequence[Hint],
    before: Mapping[str, str],
    after: Mapping[str, str],
    known: str = "",
) -> Credit:
    """Credit for an answer that changed `before` into `after`.

    `claimed` is the answer's line of used items; without one all items shown are taken to be used.
    `known` is what the model was shown besides items: what stands there proves no use.
    """
    if not claimed:
        return Credit(tuple(shown), tuple(shown))
    numbers = {int(number) for number in re.findall(r"\d+", claimed)}
    written = set(added_lines(before, after))
    elsewhere = {*_lines("\n".join(before.values())), *_lines(known)}
    used = []
    for hint in hints:
        if hint.item is None or hint.item not in shown:
            continue
        own = _lines_of(hint.code) - elsewhere
        copied = len(own & written)
        if hint.item in numbers:
            if _confirms(hint, own, copied, written):
                used.append(hint.item)
        elif copied >= _LEAST_COPIED:
            used.append(hint.item)
    return Credit(tuple(shown), tuple(used))


def _confirms(hint: Hint, own: set[str], copied: int, written: set[str]) -> bool:
    """Whether what was written agrees with the claim that an item was used.

    An item of words alone cannot be checked. A failure was heeded where the offending lines are not
    written again. Code was used where one of its lines, or two of its names, are written.
    """
    if hint.code is None:
        return True
    offending = {line.strip() for line in _OFFENDING.findall(hint.code.excerpt)}
    if offending:
        return not offending & written
    if not own or copied:
        return True
    names = set(_NAME.findall("\n".join(own)))
    return len(names & set(_NAME.findall("\n".join(written)))) >= 2


def _lines_of(code: HintCode | None) -> set[str]:
    """Lines that an item shows as worth writing: a kernel's, or what a change adds."""
    if code is None:
        return set()
    added = [line[1:] for line in code.diff.splitlines() if line.startswith("+")]
    return _lines("\n".join((*code.files.values(), *added)))


def _lines(text: str) -> set[str]:
    lines = (line.strip() for line in text.splitlines())
    return {line for line in lines if len(line) >= _LEAST_CHARACTERS}
