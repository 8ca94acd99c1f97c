"""The `evolve` strategy in simulated campaigns: islands, migration, prompts, interruption."""

import math
from pathlib import Path

import pytest

from kernelmill.archive import Archive, Outcome
from kernelmill.generators.model.prompting import prompt_for
from kernelmill.records.model_settings import PROMPT_TOKENS, ModelRole
from kernelmill.strategies import get_strategy
from kernelmill.strategies.evolve import Evolve
from strategies.simulated_campaign import SimulatedCampaign, fastest_level, tables

ARCHIVE = ("elites", "offspring", "measurements")
NOISE = 0.05


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SimulatedCampaign:
    folder = tmp_path_factory.mktemp("evolve")
    campaign = SimulatedCampaign(folder / "workspace", Evolve("migrate=6"), 24, NOISE)
    campaign.run()
    return campaign


def test_every_island_gets_children_and_keeps_elites(finished: SimulatedCampaign) -> None:
    archive = Archive(finished.workspace.database, 1, 1)
    offspring = archive.recent(100)
    assert [one.number for one in offspring] == list(range(24, 0, -1))
    assert {island: sum(one.island == island for one in offspring) for island in (0, 1)} == {
        0: 12,
        1: 12,
    }
    assert {one.island for one in archive.elites()} == {0, 1}


def test_elites_migrate_after_another_measurement(finished: SimulatedCampaign) -> None:
    database = finished.workspace.database
    owned = database.execute(
        "SELECT e.attempt, e.island, o.island AS home FROM elites e JOIN offspring o "
        "ON o.attempt = e.attempt WHERE e.island <> o.island"
    ).fetchall()
    assert owned, "an elite lives on an island that it was not born on"
    for row in owned:
        rows = database.execute("SELECT * FROM measurements WHERE attempt = ?", (row["attempt"],))
        assert len(rows.fetchall()) > 1


def test_it_finds_a_fast_kernel_and_the_champion_is_the_best_elite(
    finished: SimulatedCampaign,
) -> None:
    best = Archive(finished.workspace.database, 1, 1).best()
    assert best is not None and best.fitness.level > fastest_level() - 0.25
    (entry,) = finished.workspace.tasks(finished.campaign)
    assert entry.champion is not None
    speed = finished.workspace.champion_speed(finished.campaign, 1)
    assert speed is not None and abs(math.log(speed) - best.fitness.level) < 0.02


def test_failed_attempts_are_kept_apart(finished: SimulatedCampaign) -> None:
    archive = Archive(finished.workspace.database, 1, 1)
    failed = {one.attempt for one in archive.recent(100) if one.outcome is Outcome.FAILED}
    states = {one.id: one.state for one in finished.attempts()}
    assert failed == {number for number, state in states.items() if state == "refused"}
    assert failed.isdisjoint(one.attempt for one in archive.elites())


def test_an_interrupted_campaign_has_the_same_archive(
    finished: SimulatedCampaign, tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    first = SimulatedCampaign(folder, Evolve("migrate=6"), 24, NOISE)
    first.run(most=13)
    # Killed while it works on the next attempt: the claim is left behind.
    assert first.workspace.claim(first.campaign, 1) is not None
    first.workspace.close()
    second = SimulatedCampaign(folder, Evolve("migrate=6"), 24, NOISE)
    second.run()
    assert tables(second.workspace, *ARCHIVE) == tables(finished.workspace, *ARCHIVE)


def test_a_prompt_shows_the_parent_the_fastest_and_the_most_different(
    finished: SimulatedCampaign,
) -> None:
    (entry,) = finished.workspace.tasks(finished.campaign)
    assert entry.described is not None
    shown = set()
    for number in range(25, 45):
        history = finished.history(1, entry.described, number)
        proposal = Evolve().propose(entry.described, history)
        assert proposal.step is not None
        role = ModelRole.GENERATOR if proposal.parent is None else ModelRole.OPTIMIZER
        if proposal.parent is not None and not proposal.parent.verdict.passed:
            continue
        prompt = prompt_for(role, proposal, PROMPT_TOKENS).user
        elites = [one for one in proposal.context if one.code is not None and one.code.files]
        assert elites and all(one.why is not None for one in elites)
        assert "one of the fastest" in prompt and "behaviour of its code" in prompt
        if proposal.step.operator == "crossover":
            assert f"attempt {proposal.step.partner}" in prompt and "the partner" in prompt
        shown.add(proposal.step.operator)
    assert {"edit", "rewrite", "crossover"} <= shown


def test_settings_are_checked() -> None:
    strategy = get_strategy("evolve:islands=3,migrate=0")
    assert isinstance(strategy, Evolve) and strategy.settings.islands == 3


def test_islands_may_have_models_of_their_own(tmp_path: Path) -> None:
    campaign = SimulatedCampaign(tmp_path / "workspace", Evolve("models=own,islands=3"), 9)
    (entry,) = campaign.workspace.tasks(campaign.campaign)
    assert entry.described is not None
    writers = []
    for number in range(1, 10):
        proposal = campaign.strategy.propose(
            entry.described, campaign.history(1, entry.described, number)
        )
        assert proposal.step is not None and proposal.writer == proposal.step.island
        writers.append(proposal.writer)
        campaign.run(most=1)
    assert set(writers) == {0, 1, 2}
