"""Parsing of answers into plans, diagnoses and opinions."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.model.guided import GUIDANCE, PLAN
from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.protocol import ModelAnswer, StopReason
from kernelmill.generators.model.structured import (
    Opinion,
    parse_diagnosis,
    parse_opinion,
    parse_plan,
)
from samples import make_verdict

DIAGNOSIS = {
    "issue": "tails are wrong",
    "evidence": "it is <wrong>",
    "cause": "the last columns are not written",
    "invariants": ["the loop order"],
    "fix": "write them",
    "confidence": 0.8,
}


def answer(value: object) -> ModelAnswer:
    return ModelAnswer(value if isinstance(value, str) else json.dumps(value), StopReason.END, None)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "Here is my plan:\n```json\n{}\n```\nGood luck!",
        "```\n{}\n```",
        "I choose tiling because {} is best.",
    ],
)
def test_an_object_is_found_in_what_is_said_around_it(text: str) -> None:
    plan = parse_plan(answer(text.replace("{}", json.dumps(PLAN))), GUIDANCE)
    assert json.loads(msgspec.json.encode(plan)) == PLAN


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        (CallProblem.NOT_ALLOWED, {"method": "magic"}),
        (CallProblem.NOT_ALLOWED, {"method": "streaming-stores"}),
        (CallProblem.NO_EVIDENCE, {"evidence": "it is slow"}),
        (CallProblem.NO_EVIDENCE, {"evidence": ""}),
        (CallProblem.NO_DIFFERENCE, {"method": "unrolling"}),
        (CallProblem.NO_DIFFERENCE, {"method": "unrolling", "difference": " "}),
        (CallProblem.INVALID_FIELD, {"steps": []}),
        (CallProblem.INVALID_FIELD, {"steps": "first this, then that"}),
        (CallProblem.INVALID_FIELD, {"method": 3}),
    ],
)
def test_a_plan_that_does_not_hold(problem: CallProblem, change: dict[str, Any]) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        parse_plan(answer(PLAN | change), GUIDANCE)
    assert caught.value.problem is problem


def test_a_method_returns_with_a_difference() -> None:
    again = PLAN | {"method": "unrolling", "difference": "by four, not by eight"}
    assert parse_plan(answer(again), GUIDANCE).difference == "by four, not by eight"


def test_the_reason_why_something_is_forbidden_goes_back() -> None:
    with pytest.raises(UnusableAnswer, match="the output is read again"):
        parse_plan(answer(PLAN | {"method": "streaming-stores"}), GUIDANCE)


def test_a_diagnosis_rests_on_the_verdict() -> None:
    verdict = make_verdict(None)
    assert parse_diagnosis(answer(DIAGNOSIS), verdict).confidence == 0.8
    for change, problem in (
        ({"evidence": "it looks odd"}, CallProblem.NO_EVIDENCE),
        ({"confidence": 80}, CallProblem.INVALID_FIELD),
        ({"confidence": "high"}, CallProblem.INVALID_FIELD),
    ):
        with pytest.raises(UnusableAnswer) as caught:
            parse_diagnosis(answer(DIAGNOSIS | change), verdict)
        assert caught.value.problem is problem


def test_an_opinion_has_a_reason() -> None:
    assert parse_opinion(answer({"valid": True, "reason": ""})) == Opinion(True, "")
    with pytest.raises(UnusableAnswer, match="reason"):
        parse_opinion(answer({"valid": False, "reason": ""}))
    with pytest.raises(UnusableAnswer) as caught:
        parse_opinion(answer("valid: yes"))
    assert caught.value.problem is CallProblem.INVALID_JSON


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_is_a_plan_or_malformed(text: str) -> None:
    for parse in (
        lambda said: parse_plan(said, GUIDANCE),
        lambda said: parse_diagnosis(said, make_verdict(None)),
        parse_opinion,
    ):
        with suppress(UnusableAnswer):
            parse(answer(text))
