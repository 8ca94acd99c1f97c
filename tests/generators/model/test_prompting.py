"""Prompts within their token budget, and the parts that are never left out."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

import kernelmill.generators
from generators.model.guided import GUIDANCE
from generators.model.test_roles import TASK_OBJECT, TRACE, propose
from kernelmill.backends import get_backend
from kernelmill.generators.base import Declined
from kernelmill.generators.model import prompting
from kernelmill.generators.model.allotment import PromptPart, allot
from kernelmill.generators.model.examples import relevant_example
from kernelmill.generators.model.prompt_content import PromptContent, guide_points
from kernelmill.generators.model.prompting import opening_role, prompt_for
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.model_settings import ModelRole
from kernelmill.records.proposal import Hint
from kernelmill.tasks import load_suite
from kernelmill.tasks.shown import shown_source

PROMPTS = Path(kernelmill.generators.__file__).parent / "prompts"


def test_nothing_undefined_is_passed_over() -> None:
    for path in PROMPTS.glob("*.user.j2"):
        with pytest.raises(UndefinedError):
            prompting.environment().get_template(path.name).render()
    assert len(list(PROMPTS.glob("*.user.j2"))) == len(ModelRole) + 1


@settings(max_examples=25)
@given(st.integers(1200, 4000), st.integers(0, 30))
def test_a_prompt_keeps_to_its_budget(most: int, count: int) -> None:
    hints = tuple(
        msgspec.structs.replace(TRACE, text=f"Lesson {number}. " + "word " * 40, item=number)
        for number in range(count)
    )
    proposal = msgspec.structs.replace(propose(1.25), context=hints)
    try:
        prompt = prompt_for(ModelRole.OPTIMIZER, proposal, most)
    except Declined:
        return  # even the least takes more
    assert prompt.tokens <= most
    assert "return 2 * x + self.bias" in prompt.user, "the reference is never left out"
    assert "bias[c];" in prompt.user, "nor is the candidate"
    assert ("Left out for lack of room" in prompt.user) == bool(prompt.left_out)
    shown = [number for number in range(count) if f"Lesson {number}." in prompt.user]
    assert shown == list(range(len(shown))), "the best are kept"


def test_a_hint_from_the_guide_is_not_repeated() -> None:
    fact = get_backend("cpp").guide()["pitfalls"].split("- ")[1].strip()
    hints = (Hint("api", fact, item=1), Hint("api", "Something of elsewhere.", item=2))
    prompt = prompt_for(
        ModelRole.GENERATOR, msgspec.structs.replace(propose(parent=False), context=hints), 9000
    )
    whole = prompt.system + prompt.user
    assert whole.count(fact) == 1
    assert "Something of elsewhere." in whole


def test_a_guide_larger_than_its_share_is_retrieved() -> None:
    chapters = {
        "blocks": "## Blocks\n\n- `grid` is a loop.\n- `spec` maps it.\n",
        "memory": "## Memory\n\n- Buffers are small.\n",
    }
    hints = [Hint("api", "`spec` maps it.", item=1)]
    assert [one.chapter for one in guide_points(chapters, hints, 9000)] == ["blocks", "memory"]
    points = guide_points(chapters, hints, 60)
    assert [one.text for one in points if one.retrieved] == ["- `spec` maps it."]
    content = PromptContent(hints, points, None, (), task="t", family="f", backend="cpp")
    (grid, spec, buffers) = content.parts[1:]
    assert spec.density > max(grid.density, buffers.density)
    chosen = content.chosen([2])
    assert chosen.chapters == {"blocks": "## Blocks\n\n- `spec` maps it.\n"}
    assert "a point of the guide's chapter on memory" in chosen.left_out


def test_the_example_is_the_most_relevant_one() -> None:
    source = "y = torch.softmax(x, dim=-1)\n"
    task = msgspec.structs.replace(
        TASK_OBJECT, id="own/log_softmax", family="softmax", source=source
    )
    found = relevant_example(get_backend("cpp"), task)
    assert found is not None and "softmax" in found.name
    product = msgspec.structs.replace(
        TASK_OBJECT, id="own/linear", family="matmul", source="y = x @ w\n", signature=("aten.mm",)
    )
    found = relevant_example(get_backend("cpp"), product)
    assert found is not None and "matmul" in found.name


def test_tokens_go_to_what_is_worth_most_per_token() -> None:
    parts = [
        PromptPart("long", 100, 5.0),
        PromptPart("short", 10, 2.0),
        PromptPart("its code", 50, 9.0, needs=1),
        PromptPart("too long", 900, 99.0),
    ]
    assert allot(parts, 160) == [1, 2, 0]
    assert allot(parts, 60) == [1, 2]
    assert allot(parts, 59) == [1], "code never comes without what it is about"
    assert allot(parts, 5) == []


def test_code_is_shown_as_it_is() -> None:
    """Edits must match it: not a space may change, and no fence in it may end the block."""
    code = "int a;\n\n\n\nint b;  \n// ```\n\tint c;\n"
    proposal = propose(1.25)
    assert proposal.parent is not None
    candidate = Candidate({"model.py": "x\n", "kernel.cpp": code}, Origin.MODEL)
    parent = msgspec.structs.replace(proposal.parent, candidate=candidate)
    prompt = prompt_for(ModelRole.OPTIMIZER, msgspec.structs.replace(proposal, parent=parent), 9000)
    assert f"````cpp\n{code}````\n" in prompt.user


def test_the_role_that_is_asked_first() -> None:
    assert opening_role(propose(parent=False)) is ModelRole.GENERATOR
    assert opening_role(propose(parent=False, guided=True)) is ModelRole.GENERATOR
    assert opening_role(propose(None)) is ModelRole.REPAIRER
    assert opening_role(propose(None, guided=True)) is ModelRole.DIAGNOSER
    assert opening_role(propose(1.5)) is ModelRole.OPTIMIZER
    assert opening_role(propose(1.5, guided=True)) is ModelRole.PLANNER


def test_guidance_helps_a_first_draft_too() -> None:
    prompt = prompt_for(ModelRole.GENERATOR, propose(parent=False, guided=True), 9000)
    assert GUIDANCE.methods[0].text in prompt.user
    assert "not streaming-stores: the output is read again" in prompt.user


@pytest.mark.parametrize("suite", ["starter", "basic"])
def test_no_hidden_size_is_shown(suite: str) -> None:
    for file in load_suite(suite):
        task = msgspec.structs.replace(TASK_OBJECT, source=file.source)
        shown = shown_source(task)
        assert "HIDDEN" not in shown and "SCALES" not in shown
        compile(shown, "shown", "exec")


def test_the_machine_is_described() -> None:
    facts = get_backend("cpp").machine()
    assert any("processors" in fact for fact in facts)
