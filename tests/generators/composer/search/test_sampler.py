"""Decisions come from the context, then the custom, then chance."""

import collections
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.composer.plan import Plan, defaults
from kernelmill.generators.composer.search import sampler
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.records.decisions import Choices, Decisions
from kernelmill.records.proposal import REFUSED, Hint, Parent, Proposal, Stage
from samples import code_of, make_candidate, make_task, make_verdict

OPEN = {
    name: CATALOGUE[name].choices
    for name in ("accumulate", "contract", "lanes", "parallel", "specialise")
}
DEFAULTS = defaults(CATALOGUE)
seeds = st.integers(1, 2**60)


def propose(seed: int, *context: Hint, start: Decisions | None = None) -> Proposal:
    parent = None if start is None else Parent(1, make_candidate("pass"), make_verdict(2.0), start)
    task = make_task("starter/gelu")
    return Proposal(task, "cpp", Stage.DRAFT, seed, parent=parent, context=context)


def choose(proposal: Proposal, choices: Choices, cold: bool = False) -> Decisions:
    return sampler.choose(proposal, choices, Tried(proposal, code_of), cold)


def hint(outcome: float, item: int | None = None, **decisions: bool | int | str) -> Hint:
    return Hint("trace", "", item, decisions, outcome)


@given(st.integers(0, 2**60), st.booleans())
def test_every_choice_is_one_of_those_there_are(seed: int, cold: bool) -> None:
    chosen = choose(propose(seed), OPEN, cold)
    assert set(chosen) == set(OPEN)
    assert all(choice in OPEN[name] for name, choice in chosen.items())
    assert chosen == choose(propose(seed), OPEN, cold)


def test_without_lots_the_usual_is_chosen() -> None:
    assert choose(propose(0), OPEN) == {name: DEFAULTS[name] for name in OPEN}


def test_without_lots_enough_evidence_outweighs_custom() -> None:
    shown = [hint(0.9, 7, lanes=16), hint(-0.9, 8, lanes=64)]
    assert choose(propose(0, *shown), OPEN)["lanes"] == DEFAULTS["lanes"]
    assert choose(propose(0, *shown * 3), OPEN)["lanes"] == 16


def test_the_cold_draw_everything_alike() -> None:
    drawn = collections.Counter(choose(propose(n), OPEN, cold=True)["lanes"] for n in range(1, 401))
    assert set(drawn) == set(OPEN["lanes"])
    assert min(drawn.values()) > 60


def test_what_worked_elsewhere_is_taken_over_more_often_than_not() -> None:
    shown = hint(0.95, 7, contract="blocked")
    taken = [choose(propose(n, shown), OPEN, cold=True)["contract"] for n in range(1, 201)]
    assert taken.count("blocked") > 150


def test_a_slow_task_elsewhere_says_little_against_the_usual() -> None:
    """All of its choices were the usual ones; it may be slow whatever is chosen."""
    usually: Decisions = {name: DEFAULTS[name] for name in OPEN}
    slow = Hint("trace", "", 7, usually, math.tanh(math.log(0.38)), level_of="other/slow")
    fast = Hint("trace", "", 8, usually, math.tanh(math.log(6.27)), level_of="other/fast")
    assert choose(propose(0, slow, slow, fast), OPEN) == usually


def test_two_kernels_of_a_task_elsewhere_tell_which_choice_it_was() -> None:
    def elsewhere(ratio: float, lanes: int) -> Hint:
        shown: Decisions = {**DEFAULTS, "lanes": lanes}
        opened: Decisions = {name: shown[name] for name in OPEN}
        outcome = math.tanh(math.log(ratio))
        return Hint("trace", "", int(ratio * 10), opened, outcome, level_of="other/task")

    shown = [elsewhere(0.2, 64), elsewhere(1.4, 16)]
    assert choose(propose(0, *shown), OPEN, cold=True)["lanes"] == 16


@given(seeds, st.booleans())
def test_a_draft_begins_with_what_passed_for_its_task_elsewhere(seed: int, cold: bool) -> None:
    slower: Decisions = {name: some[-1] for name, some in OPEN.items()}
    faster: Decisions = {**slower, "lanes": OPEN["lanes"][1]}
    partial: Decisions = {"lanes": OPEN["lanes"][2]}
    told = [
        Hint("trace", "", item, decisions, outcome, level_of="starter/gelu")
        for item, (decisions, outcome) in enumerate([(slower, 0.2), (faster, 0.5), (partial, 0.9)])
    ]
    assert choose(propose(seed, *told), OPEN, cold) == faster
    elsewhere_too = Hint("trace", "", 9, faster, 0.1, level_of="starter/softmax")
    assert choose(propose(seed, *told, elsewhere_too), OPEN, cold) == faster
    refused_here = hint(REFUSED, **faster)
    assert choose(propose(seed, *told, refused_here), OPEN, cold) == slower
    both = (refused_here, hint(REFUSED, **slower))
    assert choose(propose(seed, *told, *both), OPEN, cold) not in (faster, slower)


def test_what_worked_here_is_kept() -> None:
    """The third attempt tells which of two changes it was."""
    start: Decisions = {"contract": "loops", "lanes": 16, "parallel": "none"}
    shown = [
        hint(math.tanh(2.0), contract="blocked", lanes=32, parallel="none"),
        hint(0.0, contract="loops", lanes=32, parallel="none"),
    ]
    proposals = [propose(n, *shown, start=start) for n in range(1, 101)]
    assert all(choose(one, OPEN, cold=True)["contract"] == "blocked" for one in proposals)


@given(seeds)
def test_what_makes_no_difference_here_is_not_decided(seed: int) -> None:
    assert "tile" not in choose(propose(seed, hint(0.8, lanes=16, tile="8x3")), OPEN)


@given(seeds, st.booleans())
def test_what_was_tried_is_not_tried_again(seed: int, cold: bool) -> None:
    before: Decisions = {name: DEFAULTS[name] for name in OPEN}
    chosen = choose(propose(seed, hint(-1.0, **before)), OPEN, cold)
    assert chosen != before


@given(seeds)
def test_what_comes_to_the_same_code_is_not_tried_again(seed: int) -> None:
    def without_lanes(decisions: Decisions) -> str:
        return code_of({name: choice for name, choice in decisions.items() if name != "lanes"})

    before: Decisions = {name: DEFAULTS[name] for name in OPEN}
    proposal = propose(seed, hint(0.9, **before))
    chosen = sampler.choose(proposal, OPEN, Tried(proposal, without_lanes))
    assert without_lanes(chosen) != without_lanes(before)


def test_where_much_is_known_what_is_new_is_one_step_away() -> None:
    best: Decisions = {name: DEFAULTS[name] for name in OPEN}
    shown = [hint(0.95, 7, **{name: best[name]}) for name in OPEN] * 40
    for seed in range(1, 51):
        chosen = choose(propose(seed, *shown, start=best), OPEN)
        assert sum(chosen[name] != best[name] for name in OPEN) == 1


def test_what_other_tasks_tried_is_not_tried_here() -> None:
    before: Decisions = {name: DEFAULTS[name] for name in OPEN}
    elsewhere, here = propose(1, hint(0.9, 7, **before)), propose(1, hint(0.9, **before))
    assert before not in Tried(elsewhere, code_of)
    assert before in Tried(here, code_of)
    assert before in Tried(propose(1, start=before), code_of)


def test_one_refusal_does_not_turn_against_all_that_is_usual() -> None:
    refused = hint(REFUSED, None, **{name: DEFAULTS[name] for name in OPEN})
    chosen = choose(propose(0, refused), OPEN)
    assert sum(chosen[name] != DEFAULTS[name] for name in OPEN) <= 1, "not the very same again"


def test_what_was_refused_alone_is_shunned() -> None:
    refused = hint(REFUSED, 7, lanes=64)
    taken = [choose(propose(n, refused), OPEN, cold=True)["lanes"] for n in range(1, 101)]
    assert taken.count(64) < 10


def test_a_draft_keeps_to_what_passed_where_much_is_refused() -> None:
    """Who refines has a kernel already, and risks more."""
    passed = hint(0.1, 1, **{name: choices[0] for name, choices in OPEN.items()})
    refused = [hint(REFUSED, n, lanes=n, contract="blocked") for n in (8, 16, 32, 64)]

    def kept(stage: Stage) -> float:
        """The share of decisions that are taken over."""
        drawn = [
            choose(
                msgspec.structs.replace(propose(seed, passed, *refused), stage=stage), OPEN, True
            )
            for seed in range(1, 60)
        ]
        same = [one[name] == choices[0] for one in drawn for name, choices in OPEN.items()]
        return sum(same) / len(same)

    assert kept(Stage.DRAFT) > 0.7
    assert kept(Stage.DRAFT) > kept(Stage.REFINE)


def test_what_passed_is_not_to_blame() -> None:
    """Only one choice of the two that were refused is in none of the two that passed."""
    shown = (
        hint(REFUSED, 7, lanes=16, parallel="none", contract="loops"),
        hint(REFUSED, 8, lanes=16, parallel="outer", contract="blocked"),
        hint(0.0, 9, lanes=32, parallel="none", contract="blocked"),
        hint(0.0, 10, lanes=64, parallel="outer", contract="loops"),
    )
    drawn = [choose(propose(n, *shown), OPEN, cold=True) for n in range(1, 201)]
    counted = {name: collections.Counter(one[name] for one in drawn) for name in OPEN}
    assert counted["lanes"][16] < 10
    assert min(counted["parallel"].values()) > 50
    assert min(counted["contract"].values()) > 50


@given(seeds)
def test_the_last_one_left_is_found(seed: int) -> None:
    two = {"parallel": ("outer", "none"), "specialise": (True, False)}
    shown = [
        hint(0.5, parallel="outer", specialise=True),
        hint(0.4, parallel="outer", specialise=False),
        hint(-1.0, parallel="none", specialise=True),
    ]
    chosen = choose(propose(seed, *shown, start={"parallel": "outer", "specialise": True}), two)
    assert chosen == {"parallel": "none", "specialise": False}


def test_foreign_words_in_a_hint_change_nothing() -> None:
    strange = hint(1.0, 3, lanes=17, accumulate="magic", sun="shine", specialise=1)
    assert choose(propose(5, strange), OPEN) == choose(propose(5), OPEN)


def test_a_plan_notes_what_was_asked() -> None:
    plan = Plan({"lanes": 16, "tile": "nonsense"}, CATALOGUE)
    assert plan.consulted == set()
    assert (plan.lanes, plan.tile) == (16, CATALOGUE["tile"].choices[0])
    assert plan.consulted == {"lanes", "tile"}
