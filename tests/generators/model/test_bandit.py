"""Which of several models writes next."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.base import Standing
from kernelmill.generators.calls import Call
from kernelmill.generators.model.bandit import choose
from kernelmill.generators.model.settings import Model
from kernelmill.memory.values import draft_reward, refine_reward
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


def shares(*standings: Standing) -> Counter[str]:
    return Counter(choose(MODELS, standings, f"task/{lot}").name for lot in range(600))


def test_those_nobody_knows_get_the_same_share() -> None:
    assert all(150 < count < 250 for count in shares().values())


def test_success_is_followed_and_failure_not_forgotten() -> None:
    found = shares(Standing("a", 10, 8.0), Standing("b", 10, -8.0), Standing("c", 10, 6.0))
    assert found["a"] > found["c"] > found["b"]
    assert found["b"] < 30


def test_a_newcomer_gets_its_chance() -> None:
    assert shares(Standing("a", 20, 10.0), Standing("b", 20, 10.0))["c"] > 60


@given(
    st.text(max_size=5),
    st.lists(st.tuples(st.integers(0, 50), st.floats(-1, 1)), min_size=3, max_size=3),
)
def test_the_same_lot_gives_the_same_choice(lot: str, past: list[tuple[int, float]]) -> None:
    standings = [
        Standing(model.name, attempts, mean * attempts)
        for model, (attempts, mean) in zip(MODELS, past, strict=True)
    ]
    assert choose(MODELS, standings, lot) == choose(MODELS, standings, lot)


def test_what_each_brought_is_read_from_the_workspace(tmp_path: Path) -> None:
    """As strategies see it: whoever wrote an attempt gets its reward."""
    story = [("a", None), ("b", 2.0), ("a", 3.0), ("b", 1.5), ("a", None), ("b", 3.5)]
    with Workspace(tmp_path, create=True) as workspace:
        settings = msgspec.structs.replace(SETTINGS, budget=len(story))
        campaign = workspace.create_campaign(settings, new_tasks("one"))
        for model, ratio in story:
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            result = make_result(ratio)
            assert result.draft is not None
            calls = (Call("planner", "wise"), Call("optimizer", model), Call("auditor", "wise"))
            draft = msgspec.structs.replace(result.draft, calls=calls)
            done = msgspec.structs.replace(result, draft=draft)
            workspace.complete(claim, done, lambda *_: None)
        worth = rewards([attempt.ratio for attempt in workspace.attempts(campaign, 1)])
        found = {one.model: one for one in workspace.standings(campaign)}
    assert set(found) == {"a", "b"}
    for model in found:
        own = [reward for (name, _), reward in zip(story, worth, strict=True) if name == model]
        assert found[model].attempts == len(own)
        assert found[model].reward == pytest.approx(sum(own))
