"""Thompson sampling among several models."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.campaign.history import model_scores
from kernelmill.generators.model.bandit import choose_model
from kernelmill.memory.values import draft_reward, refine_reward
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import PRICE_WEIGHT, Model, Price
from kernelmill.records.proposal import ModelScore
from kernelmill.records.sweep import Parameter, SweepSpace, TrialPlan
from kernelmill.sweeps import SweepLog
from kernelmill.sweeps.log import Sweep
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, new_tasks

MODELS = tuple(Model(name, "openai", "http://nowhere") for name in ("a", "b", "c"))


def rewards(ratios: list[float | None]) -> list[float]:
    """As the memory counts them: a first pass is worth 1, a refinement its gain over the best."""
    found, best = [], None
    for ratio in ratios:
        found.append(draft_reward(bool(ratio)) if best is None else refine_reward(ratio, best))
        best = max(best or 0.0, ratio or 0.0) or None
    return found


def shares(*model_scores: ModelScore) -> Counter[str]:
    return Counter(choose_model(MODELS, model_scores, f"task/{seed}").name for seed in range(600))


def test_models_without_a_record_get_the_same_share() -> None:
    assert all(150 < count < 250 for count in shares().values())


def test_success_is_followed_and_failure_not_forgotten() -> None:
    found = shares(ModelScore("a", 10, 8.0), ModelScore("b", 10, -8.0), ModelScore("c", 10, 6.0))
    assert found["a"] > found["c"] > found["b"]
    assert found["b"] < 30


def test_a_new_model_is_tried() -> None:
    assert shares(ModelScore("a", 20, 10.0), ModelScore("b", 20, 10.0))["c"] > 60


def test_of_equally_good_models_the_cheaper_one_is_asked_more_often() -> None:
    """And a dear one that is much better all the same."""
    dear, cheap = (
        Model(name, "openai", "http://nowhere", price=price)
        for name, price in (("a", Price(10.0, 50.0)), ("b", Price(0.1, 0.5)))
    )

    def share_of_cheap(*scores: ModelScore, weight: float = PRICE_WEIGHT) -> float:
        chosen = [choose_model((dear, cheap), scores, str(seed), weight) for seed in range(400)]
        return chosen.count(cheap) / 400

    even = ModelScore("a", 30, 0.0), ModelScore("b", 30, 0.0)
    assert share_of_cheap(*even) > 0.8
    assert 0.4 < share_of_cheap(*even, weight=0.0) < 0.6
    better = ModelScore("a", 30, 18.0), ModelScore("b", 30, -6.0)
    assert share_of_cheap(*better) < 0.1
    wordy = (
        ModelScore("a", 30, 0.0, 30, 30_000, 3_000),
        ModelScore("b", 30, 0.0, 30, 3_000_000, 300_000),
    )
    assert 0.35 < share_of_cheap(*wordy) < 0.65, "it is a hundred times cheaper and as much wordier"


def test_an_unknown_price_is_neither_cheap_nor_dear() -> None:
    known = Model("a", "openai", "http://nowhere", price=Price(100.0, 500.0))
    unknown = Model("b", "openai", "http://nowhere")
    chosen = [choose_model((known, unknown), (), str(seed)) for seed in range(400)]
    assert 160 < chosen.count(known) < 240


@given(
    st.text(max_size=5),
    st.lists(st.tuples(st.integers(0, 50), st.floats(-1, 1)), min_size=3, max_size=3),
)
def test_the_same_seed_gives_the_same_choice(seed: str, past: list[tuple[int, float]]) -> None:
    model_scores = [
        ModelScore(model.name, attempts, mean * attempts)
        for model, (attempts, mean) in zip(MODELS, past, strict=True)
    ]
    assert choose_model(MODELS, model_scores, seed) == choose_model(MODELS, model_scores, seed)


def test_scores_are_read_from_the_workspace(tmp_path: Path) -> None:
    """The reward of an attempt goes to the model that wrote it, not to planner or auditor."""
    story = [("a", None), ("b", 2.0), ("a", 3.0), ("b", 1.5), ("a", None), ("b", 3.5)]
    with Workspace(tmp_path, create=True) as workspace:
        settings = msgspec.structs.replace(SETTINGS, budget=len(story))
        campaign = workspace.create_campaign(settings, new_tasks("one"))
        for model, ratio in story:
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            result = make_result(ratio)
            assert result.draft is not None
            calls = (
                ModelCall("planner", "wise"),
                ModelCall("optimizer", model, 1000, 100),
                ModelCall("optimizer", model, 200, 20, cached=True),
                ModelCall("auditor", "wise"),
            )
            draft = msgspec.structs.replace(result.draft, calls=calls)
            done = msgspec.structs.replace(result, draft=draft)
            workspace.complete(claim, done, lambda *_: None)
        worth = rewards([attempt.ratio for attempt in workspace.attempts(campaign, 1)])
        found = {one.model: one for one in model_scores(workspace, campaign)}
    assert set(found) == {"a", "b"}
    for model in found:
        own = [reward for (name, _), reward in zip(story, worth, strict=True) if name == model]
        assert found[model].attempts == len(own)
        assert found[model].reward == pytest.approx(sum(own))
        counts = found[model].counted, found[model].tokens_in, found[model].tokens_out
        assert counts == (len(own), 1200 * len(own), 120 * len(own))


def test_a_template_is_worth_its_best_combination(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("one"))
        for ratio, calls in ((1.0, (ModelCall("generator", "m"),)), (2.0, ()), (None, ())):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            result = make_result(ratio)
            assert result.draft is not None
            draft = msgspec.structs.replace(result.draft, calls=calls)
            done = msgspec.structs.replace(result, draft=draft)
            workspace.complete(claim, done, lambda *_: None)
        with workspace.writing() as transaction:
            log = SweepLog(transaction, campaign.id, 1)
            log.open(Sweep(1, 0, SweepSpace((Parameter("N", (1, 2, 3)),), {"a.cpp": "${N}"})))
            for number in (1, 2, 3):
                log.add(number, TrialPlan(1, {"N": number}))
        (written,) = workspace.written_by_models(campaign)
    assert (written.model, written.ratio, written.best_before) == ("m", 2.0, None)
