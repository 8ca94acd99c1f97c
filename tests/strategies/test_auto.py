"""The `auto` strategy: attempts go to the arm that pays, and all arms share what is learned."""

import random
from pathlib import Path

import pytest

from kernelmill.archive import Archive, Offspring, Outcome
from kernelmill.records.errors import UsageError
from kernelmill.strategies.auto import Auto
from strategies.simulated_campaign import SimulatedCampaign


def make_offspring(number: int, strategy: str, progress: float) -> Offspring:
    outcome = Outcome.BEST if progress else Outcome.BEATEN
    return Offspring(number, number, strategy, "edit", 0, outcome, speed=1.0, progress=progress)


def test_the_arm_that_pays_is_chosen_most() -> None:
    auto = Auto("arms=value+evolve+refine")
    here = [
        make_offspring(number, *(("evolve", 0.1) if number % 3 else ("value", 0.0)))
        for number in range(18)
    ]
    chosen = []
    for seed in range(200):
        draws = auto._draws(here, (), random.Random(seed))
        chosen.append(max(draws, key=lambda arm: draws[arm]))
    assert chosen.count("evolve") > 150 > 20 > chosen.count("value")
    assert chosen.count("refine") > 0, "an arm that was never tried gets its chance"


def test_an_unknown_arm_is_refused() -> None:
    with pytest.raises(UsageError, match="no arm is called 'guess'"):
        Auto("arms=value+guess")


def test_every_attempt_is_learned_from_once_and_enters_the_archive(tmp_path: Path) -> None:
    campaign = SimulatedCampaign(tmp_path / "workspace", Auto(), 20, seed=2)
    campaign.run()
    archive = Archive(campaign.workspace.database, 1, 1)
    offspring = archive.recent(100)
    assert [one.number for one in offspring] == list(range(20, 0, -1))
    assert len({one.strategy for one in offspring}) > 2
    assert archive.elites()
    (traces,) = campaign.workspace.database.execute(
        "SELECT count(*) FROM items WHERE kind = 'trace'"
    ).fetchone()
    sources = {one.source for one in campaign.attempts()}
    assert 0 < traces <= len(sources)
