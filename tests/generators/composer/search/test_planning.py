"""The composer as planner, diagnoser and repairer: rules instead of a model."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.composer.search import planning, repairing
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.records.decisions import Choice, Choices, Decisions, is_choice
from kernelmill.records.guidance import Guidance, Method
from kernelmill.records.proposal import Hint, Parent, Proposal, Stage
from kernelmill.records.verdict import Feedback, Gate
from samples import code_of, make_candidate, make_task, make_verdict

OPEN = {name: CATALOGUE[name].choices for name in ("accumulate", "lanes", "moments", "parallel")}
EVERYTHING = {name: one.choices for name, one in CATALOGUE.items()}
AT_HAND: Decisions = {"accumulate": "float", "lanes": 64, "moments": "one-pass", "parallel": "none"}


def plan_method(proposal: Proposal, choices: Choices) -> planning.PlannedMethod | None:
    return planning.plan_method(proposal, choices, Tried(proposal, code_of))


def repair(proposal: Proposal, choices: Choices) -> repairing.Repaired | None:
    return repairing.repair(proposal, choices, Tried(proposal, code_of))


def method(name: str, tried: str = "", **decisions: Choice) -> Method:
    return Method(name, "how", "vectors up", decisions, tried=tried)


def guided(*methods: Method) -> Guidance:
    evidence = ("foreign_share = 0", "vectors = 0", "passes = 2")
    return Guidance("rule", "scalar", "high", "streaming", evidence, methods, {})


def propose(
    guidance: Guidance | None, passed: bool = True, kind: str = "numerical", *tried: Decisions
) -> Proposal:
    verdict = make_verdict(1.0 if passed else None)
    if not passed:
        feedback = Feedback(Gate.CORRECTNESS, kind, "it is wrong")
        verdict = msgspec.structs.replace(verdict, feedback=(feedback,))
    parent = Parent(1, make_candidate(), verdict, AT_HAND)
    context = tuple(Hint("trace", "", decisions=one, outcome=0.0) for one in tried)
    return Proposal(make_task(), "cpp", Stage.REFINE, 1, parent, context, guidance=guidance)


def test_the_first_method_that_changes_something_is_planned() -> None:
    allowed = guided(
        method("same", lanes=64), method("foreign", tile="8x3"), method("new", lanes=16)
    )
    found = plan_method(propose(allowed), OPEN)
    assert found is not None
    assert found.plan.method == "new"
    assert found.decisions == AT_HAND | {"lanes": 16}
    assert found.plan.steps == ("lanes: 16 instead of 64",)
    assert found.plan.evidence == "vectors = 0", "that of the metric it expects to move"
    assert found.plan.evidence in allowed.evidence
    assert found.plan.ruled_out.endswith(allowed.evidence[0])
    assert found.plan.difference == ""


def test_a_tried_method_returns_with_a_difference_only() -> None:
    again = method("lanes", "attempt 3: no faster", lanes=16)
    found = plan_method(propose(guided(again)), OPEN)
    assert found is not None and "lanes: 16 instead of 64" in found.plan.difference
    same = propose(guided(again), True, "", AT_HAND | {"lanes": 16})
    assert plan_method(same, OPEN) is None


def test_without_guidance_or_anything_that_passed_nothing_is_planned() -> None:
    assert plan_method(propose(None), OPEN) is None
    assert plan_method(propose(guided(method("new", lanes=16)), passed=False), OPEN) is None


def test_a_failure_suspects_choices_and_keeps_the_others() -> None:
    found = repair(propose(guided(), passed=False), OPEN)
    assert found is not None
    assert found.decisions == AT_HAND | {"moments": "two-pass"}
    assert found.diagnosis.cause == "moments: one-pass"
    assert found.diagnosis.evidence == "it is wrong"
    assert "lanes: 64" in found.diagnosis.invariants
    assert found.diagnosis.confidence == 0.5


def test_the_next_suspect_follows_where_the_first_was_innocent() -> None:
    before = AT_HAND | {"moments": "two-pass"}
    found = repair(propose(guided(), False, "numerical", before), OPEN)
    assert found is not None and found.decisions == AT_HAND | {"accumulate": "double"}


def test_only_strategies_that_go_by_roles_are_given_repairs() -> None:
    assert repair(propose(None, passed=False), OPEN) is None
    assert repair(propose(guided(), passed=False, kind="shape"), OPEN) is None


@given(
    st.sampled_from(["numerical", "precision", "crash", "compile-error", "time-out"]),
    st.fixed_dictionaries({name: st.sampled_from(one.choices) for name, one in CATALOGUE.items()}),
)
def test_a_repair_changes_one_choice_into_another(kind: str, at_hand: Decisions) -> None:
    proposal = propose(guided(), False, kind)
    parent = msgspec.structs.replace(proposal.parent, decisions=at_hand)  # type: ignore[type-var]
    found = repair(msgspec.structs.replace(proposal, parent=parent), EVERYTHING)
    if found is None:
        return
    changed = {n: one for n, one in found.decisions.items() if at_hand[n] != one}
    assert len(changed) == 1
    assert all(is_choice(name, choice, CATALOGUE) for name, choice in changed.items())


def test_a_repair_chooses_only_what_there_is() -> None:
    elsewhere = OPEN | {"accumulate": ("float", "exact"), "moments": ("one-pass", "welford")}
    assert repair(propose(guided(), passed=False), elsewhere) is None
