"""The composer as Diagnoser and Repairer: a class of failure suspects some choices."""

from typing import NamedTuple

from kernelmill.generators.composer.passes import WITHOUT_ALGEBRA
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.records.decisions import Choices, Decisions, is_open
from kernelmill.records.guidance import Diagnosis
from kernelmill.records.proposal import Proposal
from kernelmill.records.verdict import Feedback

_EXACT: Decisions = {"moments": "two-pass", "accumulate": "double", **WITHOUT_ALGEBRA}
_SMALL: Decisions = {"tile": "auto", "depth_block": "auto", "operand": "auto", "keep_rows": False}
_SIMPLE: Decisions = {"specialise": False, **_SMALL}
_QUICK: Decisions = {"contract": "blocked", "parallel": "outer", "vectorise": True, "fuse": True}
_SAFE: dict[str, Decisions] = {
    "numerical": _EXACT,
    "precision": _EXACT,
    "timed-answer": _EXACT,
    "crash": _SMALL,
    "compile-error": _SIMPLE,
    "time-out": _QUICK,
}
"""By the class of a failure: choices that are never its cause, the most suspected first."""


class Repaired(NamedTuple):
    decisions: Decisions
    diagnosis: Diagnosis


def repair(proposal: Proposal, choices: Choices, tried: Tried) -> Repaired | None:
    """Put the first suspected choice right and leave the others.

    None where nothing is suspected, and for a strategy that does not go by roles.
    """
    parent = proposal.parent
    if proposal.guidance is None or parent is None or not parent.verdict.feedback:
        return None
    feedback = parent.verdict.feedback[0]
    at_hand = {name: one for name, one in parent.decisions.items() if name in choices}
    suspects = [
        (name, safe)
        for name, safe in _SAFE.get(feedback.kind, {}).items()
        if name in at_hand and at_hand[name] != safe and is_open(name, safe, choices)
    ]
    for name, safe in suspects:
        decisions = at_hand | {name: safe}
        if decisions not in tried:
            diagnosis = _diagnosis(feedback, at_hand, {name: safe}, 1 / len(suspects))
            return Repaired(decisions, diagnosis)
    return None


def _diagnosis(
    feedback: Feedback, at_hand: Decisions, fix: Decisions, confidence: float
) -> Diagnosis:
    ((name, safe),) = fix.items()
    return Diagnosis(
        issue=f"{feedback.gate}: {feedback.kind}",
        evidence=feedback.summary,
        cause=f"{name}: {at_hand[name]}",
        invariants=tuple(f"{other}: {one}" for other, one in at_hand.items() if other != name),
        fix=f"{name}: {safe} instead of {at_hand[name]}",
        confidence=confidence,
    )
