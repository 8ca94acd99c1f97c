"""From the text of an answer to a plan, a diagnosis or an opinion."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.model.guided import GUIDANCE, PLAN
from kernelmill.generators.model.problems import Malformed, Problem
from kernelmill.generators.model.protocol import Answer, Stop
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


def answer(value: object) -> Answer:
    return Answer(value if isinstance(value, str) else json.dumps(value), Stop.END, None)


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
        (Problem.NOT_ALLOWED, {"method": "magic"}),
        (Problem.NOT_ALLOWED, {"method": "streaming-stores"}),
        (Problem.NO_EVIDENCE, {"evidence": "it is slow"}),
        (Problem.NO_EVIDENCE, {"evidence": ""}),
        (Problem.NO_DIFFERENCE, {"method": "unrolling"}),
        (Problem.NO_DIFFERENCE, {"method": "unrolling", "difference": " "}),
        (Problem.INVALID_FIELD, {"steps": []}),
        (Problem.INVALID_FIELD, {"steps": "first this, then that"}),
        (Problem.INVALID_FIELD, {"method": 3}),
    ],
)
def test_a_plan_that_does_not_hold(problem: Problem, change: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as caught:
        parse_plan(answer(PLAN | change), GUIDANCE)
    assert caught.value.problem is problem


def test_a_method_returns_with_a_difference() -> None:
    again = PLAN | {"method": "unrolling", "difference": "by four, not by eight"}
    assert parse_plan(answer(again), GUIDANCE).difference == "by four, not by eight"


def test_the_reason_why_something_is_forbidden_goes_back() -> None:
    with pytest.raises(Malformed, match="the output is read again"):
        parse_plan(answer(PLAN | {"method": "streaming-stores"}), GUIDANCE)


def test_a_diagnosis_rests_on_the_verdict() -> None:
    verdict = make_verdict(None)
    assert parse_diagnosis(answer(DIAGNOSIS), verdict).confidence == 0.8
    for change, problem in (
        ({"evidence": "it looks odd"}, Problem.NO_EVIDENCE),
        ({"confidence": 80}, Problem.INVALID_FIELD),
        ({"confidence": "high"}, Problem.INVALID_FIELD),
    ):
        with pytest.raises(Malformed) as caught:
            parse_diagnosis(answer(DIAGNOSIS | change), verdict)
        assert caught.value.problem is problem


def test_an_opinion_has_a_reason() -> None:
    assert parse_opinion(answer({"valid": True, "reason": ""})) == Opinion(True, "")
    with pytest.raises(Malformed, match="reason"):
        parse_opinion(answer({"valid": False, "reason": ""}))
    with pytest.raises(Malformed) as caught:
        parse_opinion(answer("valid: yes"))
    assert caught.value.problem is Problem.INVALID_JSON


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_is_a_plan_or_malformed(text: str) -> None:
    for parse in (
        lambda said: parse_plan(said, GUIDANCE),
        lambda said: parse_diagnosis(said, make_verdict(None)),
        parse_opinion,
    ):
        with suppress(Malformed):
            parse(answer(text))
