"""Hints made from items: their text, and the code they are about."""

from kernelmill.memory.items import FAILURE, SUCCESS, Item, ItemKind
from kernelmill.memory.store import Memory
from kernelmill.records.proposal import REFUSED, Hint, HintCode, HintReason
from kernelmill.records.source_diff import source_diff

_MOST_DIFF_LINES = 200
_EFFECTS = {
    "passed": "this change mended it",
    "further": "this change got past it, to a later gate",
}


def hint_of(memory: Memory, item: Item, why: HintReason | None = None) -> Hint:
    """A hint about an item, with its code."""
    return item.hint(why, _code(memory, item))


def _code(memory: Memory, item: Item) -> HintCode | None:
    evidence = item.evidence
    files = memory.source_files(item.source) if _is_verified(item) else {}
    diff = ""
    if item.change_from is not None and item.change_to is not None:
        before, after = map(memory.source_files, (item.change_from, item.change_to))
        diff = source_diff(before, after, _MOST_DIFF_LINES)
    code = HintCode(
        (item.change_to if diff else item.source) or "",
        files,
        diff,
        _effect(item) if diff else "",
        evidence.excerpt,
        evidence.diagnosis_before,
        evidence.diagnosis_after,
    )
    return code if files or diff or evidence.excerpt else None


def _is_verified(item: Item) -> bool:
    """Whether its source is a kernel that passed all gates."""
    is_kernel = item.kind is ItemKind.TRACE or item.category == SUCCESS
    return is_kernel and (item.outcome or 0.0) > REFUSED


def _effect(item: Item) -> str:
    if item.category == FAILURE:
        return _EFFECTS.get(item.evidence.mended, "")
    gain = item.evidence.gain
    return "" if gain is None else f"{gain:.2f}x as fast"
