"""Parsing and checking of an answer that is a plan, a diagnosis or an opinion."""

import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from kernelmill.generators.model.answers import demand_text
from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.protocol import ModelAnswer
from kernelmill.records.guidance import Diagnosis, Guidance, Plan
from kernelmill.records.verdict import Verdict

_SHAPE = "answer with one JSON object that has the fields asked for, and nothing else"
_FENCED = re.compile(r"```(?:json)?\n(.*?)```", re.DOTALL)
_LONGEST_LESSON = 800
_T = TypeVar("_T")


class Opinion(msgspec.Struct, frozen=True):
    """An auditor's opinion of a candidate."""

    valid: bool
    """Whether the candidate is honest."""
    reason: str


class Lesson(msgspec.Struct, frozen=True):
    """What a summariser says."""

    lesson: str


def parse_plan(answer: ModelAnswer, guidance: Guidance) -> Plan:
    """Raises UnusableAnswer for a method that is not allowed, or evidence that was not shown."""
    plan = _parse(answer, Plan)
    methods = {method.name: method for method in guidance.methods}
    if plan.method not in methods:
        reason = guidance.forbidden.get(plan.method, "it is not among the allowed methods")
        raise UnusableAnswer(
            CallProblem.NOT_ALLOWED,
            f"the method {plan.method!r} is not allowed here: {reason}",
            f"pick one of: {', '.join(methods)}",
        )
    _demand_quoted(plan.evidence, guidance.evidence)
    if methods[plan.method].tried and not plan.difference.strip():
        raise UnusableAnswer(
            CallProblem.NO_DIFFERENCE,
            f"{plan.method} was tried before: {methods[plan.method].tried}",
            "say in `difference` what will be done differently this time, or pick another method",
        )
    if not plan.steps:
        raise _invalid_field("`steps` is empty")
    return plan


def parse_diagnosis(answer: ModelAnswer, verdict: Verdict) -> Diagnosis:
    """Raises UnusableAnswer for evidence that is not in the verdict."""
    diagnosis = _parse(answer, Diagnosis)
    _demand_quoted(diagnosis.evidence, (feedback.text() for feedback in verdict.feedback))
    if not 0 <= diagnosis.confidence <= 1:
        raise _invalid_field("`confidence` is not between 0 and 1")
    return diagnosis


def parse_opinion(answer: ModelAnswer) -> Opinion:
    """Raises UnusableAnswer for an objection without a reason."""
    opinion = _parse(answer, Opinion)
    if not opinion.valid and not opinion.reason.strip():
        raise _invalid_field("`reason` is empty")
    return opinion


def parse_lesson(answer: ModelAnswer) -> Lesson:
    """Raises UnusableAnswer for a lesson that says nothing, or that is no short text."""
    lesson = Lesson(" ".join(_parse(answer, Lesson).lesson.split()))
    if not lesson.lesson:
        raise _invalid_field("`lesson` is empty")
    if len(lesson.lesson) > _LONGEST_LESSON:
        raise _invalid_field(f"`lesson` is longer than {_LONGEST_LESSON} characters")
    return lesson


def _parse(answer: ModelAnswer, struct: type[_T]) -> _T:
    text = _json_text(demand_text(answer))
    try:
        return msgspec.json.decode(text, type=struct)
    except msgspec.ValidationError as error:
        raise UnusableAnswer(CallProblem.INVALID_FIELD, str(error), _SHAPE) from error
    except msgspec.DecodeError as error:
        raise UnusableAnswer(CallProblem.INVALID_JSON, str(error), _SHAPE) from error


def _json_text(text: str) -> str:
    """The JSON object of an answer, without the text around it."""
    fenced = _FENCED.search(text)
    if fenced is not None:
        return fenced[1]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _demand_quoted(evidence: str, sources: Iterable[str]) -> None:
    """Evidence must be quoted from what was shown, but for white space."""
    wanted = " ".join(evidence.split())
    known = [" ".join(source.split()) for source in sources]
    if not wanted or not any(wanted in source for source in known):
        raise UnusableAnswer(
            CallProblem.NO_EVIDENCE,
            f"the evidence {evidence!r} is not a quotation of what was shown",
            "copy into `evidence`, word for word, one line of: " + " | ".join(known),
        )


def _invalid_field(found: str) -> UnusableAnswer:
    return UnusableAnswer(CallProblem.INVALID_FIELD, found, _SHAPE)
