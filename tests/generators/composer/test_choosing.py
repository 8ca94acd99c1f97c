"""Decisions come from the context, then the custom, then chance."""

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.base import Hint, Proposal, Stage
from kernelmill.generators.composer.choosing import choose
from kernelmill.generators.composer.decisions import CATALOGUE, Plan, is_choice, usual
from kernelmill.generators.decisions import Decisions
from samples import make_task

OPEN = ("accumulate", "lanes", "parallel", "specialise")


def propose(seed: int, *context: Hint) -> Proposal:
    return Proposal(make_task("starter/gelu"), "cpp", Stage.DRAFT, seed, context=context)


def hint(outcome: float, **decisions: bool | int | str) -> Hint:
    return Hint("trace", "", decisions=decisions, outcome=outcome)


@given(st.integers(0, 2**60))
def test_every_choice_is_one_of_the_catalogue(seed: int) -> None:
    chosen = choose(propose(seed), OPEN)
    assert set(chosen) == set(OPEN)
    assert all(is_choice(name, choice) for name, choice in chosen.items())
    assert chosen == choose(propose(seed), OPEN)


@given(st.integers(0, 2**60))
def test_what_worked_is_taken_over(seed: int) -> None:
    chosen = choose(propose(seed, hint(0.8, lanes=16, tile="8x3")), OPEN)
    assert chosen["lanes"] == 16
    assert "tile" not in chosen, "it makes no difference here"


def test_without_lots_the_usual_is_chosen() -> None:
    assert choose(propose(0), OPEN) == {name: usual()[name] for name in OPEN}


@given(st.integers(1, 2**60))
def test_what_was_tried_is_not_tried_again(seed: int) -> None:
    before: Decisions = {name: choice for name, choice in usual().items() if name in OPEN}
    chosen = choose(propose(seed, Hint("trace", "", decisions=before, outcome=-1.0)), OPEN)
    assert chosen != before


def test_foreign_words_in_a_hint_change_nothing() -> None:
    chosen = choose(propose(1, hint(1.0, lanes=17, accumulate="magic", sun="shine")), OPEN)
    assert all(is_choice(name, choice) for name, choice in chosen.items())


def test_a_plan_notes_what_was_asked() -> None:
    plan = Plan({"lanes": 16, "tile": "nonsense"})
    assert plan.consulted == set()
    assert (plan.lanes, plan.tile) == (16, CATALOGUE["tile"].choices[0])
    assert plan.consulted == {"lanes", "tile"}
