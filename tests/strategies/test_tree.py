"""The `tree` strategy: intents survive bad code, are dropped in time, and predictions learn."""

import math
from pathlib import Path

import pytest

from kernelmill.archive.intents import MOST_TRIES, IntentLog, IntentTry, tries_in_vain
from kernelmill.conformance.histories import new_database
from kernelmill.records.proposal import Proposal
from kernelmill.strategies.tree import OWN_IDEA, IntentTree
from strategies.simulated_campaign import SimulatedCampaign


@pytest.fixture
def campaign(tmp_path: Path) -> SimulatedCampaign:
    """A model's kernels: every method that the rules allow is an intent."""
    campaign = SimulatedCampaign(
        tmp_path / "workspace", IntentTree("bases=1"), 30, free_form=True, seed=3
    )
    campaign.run(most=8)
    return campaign


def propose(campaign: SimulatedCampaign) -> Proposal:
    (entry,) = campaign.workspace.tasks(campaign.campaign)
    assert entry.described is not None
    number = len(campaign.attempts()) + 1
    history = campaign.history(1, entry.described, number)
    return campaign.strategy.propose(entry.described, history)


def test_an_intent_is_dropped_after_some_tries_without_a_gain(campaign: SimulatedCampaign) -> None:
    best = max(campaign.attempts(), key=lambda one: one.ratio or 0.0)
    # The tries below belong to no attempts: only their outcome matters.
    campaign.workspace.database.execute("PRAGMA foreign_keys = OFF")
    log = IntentLog(campaign.workspace.database)
    for number in range(20):
        # What the generator finds by itself has only done harm: methods come first.
        log.add(IntentTry(500 + number, OWN_IDEA, 0, 0.1, 0.2, -0.5), 1, 1, "cpp", "pointwise")
    seen = set()
    for number in range(40):
        step = propose(campaign).step
        assert step is not None
        if step.intent == OWN_IDEA:
            break
        assert step.intent not in seen, "a dropped intent does not come back on the same base"
        seen.add(step.intent)
        for again in range(MOST_TRIES):
            tried = IntentTry(1000 + 10 * number + again, step.intent, best.id, 0.1, 0.2, 0.0)
            log.add(tried, 1, 1, "cpp", "pointwise")
    assert seen and step.intent == OWN_IDEA


def test_a_refused_implementation_does_not_end_an_intent() -> None:
    tries = [IntentTry(number, "widen", 1, 0.1, 0.2, None) for number in range(3)]
    assert tries_in_vain(tries, "widen", 1) == 3 < MOST_TRIES
    gained = [*tries, IntentTry(4, "widen", 1, 0.1, 0.2, math.log(1.5))]
    assert tries_in_vain(gained, "widen", 1) == 0
    assert tries_in_vain(tries, "widen", 2) == 0, "another base is another chance"


def test_outcomes_change_later_predictions() -> None:
    log = IntentLog(new_database())
    before = log.forecast("widen", 0.1, "cpp", "matmul")
    assert before.gain == pytest.approx(0.1) and before.tries == 0
    for number in range(4):
        log.add(IntentTry(number, "widen", 9, 0.1, 0.25, 0.5), 1, 1, "cpp", "matmul")
    better = log.forecast("widen", 0.1, "cpp", "matmul")
    assert better.gain > 0.35 and better.difficulty < before.difficulty
    elsewhere = log.forecast("widen", 0.1, "cpp", "softmax")
    assert before.gain < elsewhere.gain < better.gain, "its own family counts most"
    assert log.forecast("widen", 0.1, "triton", "matmul") == before
    for number in range(4, 12):
        log.add(IntentTry(number, "widen", 9, 0.1, 0.25, None), 1, 1, "cpp", "matmul")
    harder = log.forecast("widen", 0.1, "cpp", "matmul")
    assert harder.difficulty > better.difficulty and harder.gain == better.gain


def test_predictions_are_stored_with_their_outcome(campaign: SimulatedCampaign) -> None:
    tries = IntentLog(campaign.workspace.database).tries(1, 1)
    attempts = {one.id: one for one in campaign.attempts()}
    assert tries
    for one in tries:
        ratio, base = attempts[one.attempt].ratio, attempts[one.base].ratio
        assert base is not None
        gain = None if ratio is None else pytest.approx(math.log(ratio / base))
        assert one.gain == gain
