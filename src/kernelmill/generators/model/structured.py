"""From the text of an answer to a plan, a diagnosis or an opinion, and whether it holds."""

import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from kernelmill.generators.model.answers import demand_text
from kernelmill.generators.model.problems import Malformed, Problem
from kernelmill.generators.model.protocol import Answer
from kernelmill.generators.planning import Diagnosis, Guidance, Plan
from kernelmill.judge import Verdict

_SHAPE = "answer with one JSON object of the fields asked for, and nothing else"
_FENCED = re.compile(r"```(?:json)?\n(.*?)```", re.DOTALL)
_T = TypeVar("_T")


class Opinion(msgspec.Struct, frozen=True):
    """What an auditor says of a candidate."""

    valid: bool
    reason: str


def parse_plan(answer: Answer, guidance: Guidance) -> Plan:
    """Raises Malformed where it is not one of the methods, or rests on nothing."""
    plan = _parse(answer, Plan)
    methods = {method.name: method for method in guidance.methods}
    if plan.method not in methods:
        reason = guidance.forbidden.get(plan.method, "it is not among those that may be used")
        raise Malformed(
            Problem.NOT_ALLOWED,
            f"the method {plan.method!r} may not be used here: {reason}",
            f"pick one of: {', '.join(methods)}",
        )
    _demand_copied(plan.evidence, guidance.evidence)
    if methods[plan.method].tried and not plan.difference.strip():
        raise Malformed(
            Problem.NO_DIFFERENCE,
            f"{plan.method} was tried before: {methods[plan.method].tried}",
            "say in `difference` what will be done otherwise this time, or pick another method",
        )
    if not plan.steps:
        raise _field("`steps` is empty")
    return plan


def parse_diagnosis(answer: Answer, verdict: Verdict) -> Diagnosis:
    """Raises Malformed where it rests on nothing that the verdict says."""
    diagnosis = _parse(answer, Diagnosis)
    _demand_copied(diagnosis.evidence, (feedback.text() for feedback in verdict.feedback))
    if not 0 <= diagnosis.confidence <= 1:
        raise _field("`confidence` is not between 0 and 1")
    return diagnosis


def parse_opinion(answer: Answer) -> Opinion:
    opinion = _parse(answer, Opinion)
    if not opinion.valid and not opinion.reason.strip():
        raise _field("`reason` is empty")
    return opinion


def _parse(answer: Answer, kind: type[_T]) -> _T:
    text = _json_part(demand_text(answer))
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise Malformed(Problem.INVALID_FIELD, str(error), _SHAPE) from error
    except msgspec.DecodeError as error:
        raise Malformed(Problem.INVALID_JSON, str(error), _SHAPE) from error


def _json_part(text: str) -> str:
    """The object in an answer that says more than that."""
    fenced = _FENCED.search(text)
    if fenced is not None:
        return fenced[1]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _demand_copied(evidence: str, sources: Iterable[str]) -> None:
    """Evidence is a copy of what was measured, not what somebody thinks of it."""
    wanted = " ".join(evidence.split())
    known = [" ".join(source.split()) for source in sources]
    if not wanted or not any(wanted in source for source in known):
        raise Malformed(
            Problem.NO_EVIDENCE,
            f"the evidence {evidence!r} was not among what was shown",
            "copy into `evidence`, letter for letter, one line of: " + " | ".join(known),
        )


def _field(found: str) -> Malformed:
    return Malformed(Problem.INVALID_FIELD, found, _SHAPE)
