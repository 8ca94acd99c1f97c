"""Sweeps in a campaign: attempts of the same budget, resumable, with the table fed back."""

from pathlib import Path

import pytest

from kernelmill.generators.model.prompting import prompt_for
from kernelmill.records.attempt import State
from kernelmill.records.errors import UsageError
from kernelmill.records.model_settings import PROMPT_TOKENS, ModelRole
from kernelmill.records.proposal import Proposal
from kernelmill.records.sweep import SweepSettings
from kernelmill.report.sweeps import summarise_sweeps
from kernelmill.strategies import Strategy, get_strategy, strategy_names
from kernelmill.strategies.auto import Auto
from kernelmill.strategies.evolve import Evolve
from kernelmill.strategies.refine import Refine
from kernelmill.strategies.sweep import DecisionSweep
from kernelmill.strategies.sweeping import Sweeping
from kernelmill.sweeps import SweepLog
from kernelmill.sweeps.log import sweeps_of_campaign
from kernelmill.sweeps.trials import fastest
from samples import observing
from strategies.simulated_campaign import CHOICES, SimulatedCampaign, fastest_level, tables

STORED = ("sweeps", "sweep_trials", "measurements", "offspring", "elites")
NOISE = 0.01


def campaign(
    folder: Path, inner: Strategy, budget: int = 30, settings: SweepSettings | None = None
) -> SimulatedCampaign:
    strategy = Sweeping(inner, settings or SweepSettings())
    return SimulatedCampaign(folder / "w", strategy, budget, NOISE, templates=True)


def next_proposal(run: SimulatedCampaign) -> Proposal:
    (entry,) = run.workspace.tasks(run.campaign)
    assert entry.described is not None
    number = len(run.attempts()) + 1
    return run.strategy.propose(entry.described, run.history(1, entry.described, number))


def test_combinations_are_attempts_of_the_same_budget(tmp_path: Path) -> None:
    run = campaign(tmp_path, Evolve())
    run.run()
    found = sweeps_of_campaign(run.workspace.database, run.campaign.id)
    attempts = {one.id: one for one in run.attempts()}
    assert len(attempts) == 30 and len(found) >= 2
    for one in found:
        assert 1 <= len(one.trials) <= SweepSettings().combinations
        assert one.trials[0].attempt == one.sweep.attempt, "its defaults are the first combination"
        combinations = [trial.choices for trial in one.trials]
        assert all(combinations.count(choices) == 1 for choices in combinations)
        for trial in one.trials[1:]:
            attempt = attempts[trial.attempt]
            assert attempt.parent == one.sweep.attempt and attempt.cost_usd in (None, 0.0)
            candidate = run.workspace.candidate(attempt)
            assert candidate is not None
            assert candidate.files == one.sweep.space.filled(trial.choices)
            assert (attempt.state is State.PASSED) == (trial.fitness is not None)
    lines = summarise_sweeps(run.workspace, run.campaign)
    assert len(lines.sweeps) == len(found) and "forecasts" in lines.calibration
    assert max(one.gain or 0.0 for one in lines.sweeps) > 1.05, "a sweep has found a faster one"


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_goes_on_after_a_sweep(tmp_path: Path, name: str) -> None:
    run = campaign(tmp_path, get_strategy(name), 12)
    run.run()
    found = sweeps_of_campaign(run.workspace.database, run.campaign.id)
    assert len(found) >= 2 and all(one.trials for one in found)
    assert sum(len(one.trials) for one in found) == len(run.attempts()) == 12


def test_the_same_template_is_not_swept_twice(tmp_path: Path) -> None:
    run = campaign(tmp_path, Refine(), 12)
    proposal = next_proposal(run)
    result = run.carry_out(proposal)
    for _ in range(2):
        claim = run.workspace.claim(run.campaign, 1)
        assert claim is not None
        run.workspace.complete(claim, result, observing(run.strategy))
    (found,) = sweeps_of_campaign(run.workspace.database, run.campaign.id)
    assert found.sweep.attempt == 1


def test_a_killed_sweep_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = campaign(tmp_path / "whole", Evolve(), 20)
    whole.run()
    first = campaign(tmp_path / "killed", Evolve(), 20)
    first.run(most=6)
    assert isinstance(first.strategy, Sweeping)
    step = next_proposal(first).step
    assert step is not None and step.trial is not None, "it is killed in the middle of a sweep"
    assert first.workspace.claim(first.campaign, 1) is not None
    first.workspace.close()
    second = campaign(tmp_path / "killed", Evolve(), 20)
    second.run()
    assert tables(second.workspace, *STORED) == tables(whole.workspace, *STORED)


def test_the_table_is_shown_to_the_generator(tmp_path: Path) -> None:
    run = campaign(tmp_path, Refine(), 40)
    told = None
    for _ in range(40):
        proposal = next_proposal(run)
        trial = None if proposal.step is None else proposal.step.trial
        if trial is None and any("were measured in" in hint.text for hint in proposal.context):
            told = proposal
            break
        run.run(most=1)
    assert told is not None and told.parent is not None and told.draft is None
    prompt = prompt_for(ModelRole.OPTIMIZER, told, PROMPT_TOKENS).user
    log = SweepLog(run.workspace.database, run.campaign.id, 1)
    sweep = log.latest(is_template=True)
    assert sweep is not None
    best = fastest(log.trials(sweep.attempt))
    assert best is not None
    assert f"passes={best.choices['passes']}, tile={best.choices['tile']}" in prompt
    assert "```sweep" in prompt and f"up to {told.combinations} of them" in prompt


def test_without_sweeps_no_template_is_asked_for(tmp_path: Path) -> None:
    run = campaign(tmp_path, Refine(), 4, SweepSettings(combinations=0))
    run.run(most=2)
    proposal = next_proposal(run)
    assert proposal.combinations == 0 and proposal.draft is None
    if proposal.parent is not None and proposal.parent.verdict.passed:
        assert "sweep" not in prompt_for(ModelRole.OPTIMIZER, proposal, PROMPT_TOKENS).user


def test_the_best_combinations_are_measured_again(tmp_path: Path) -> None:
    run = campaign(tmp_path, Refine(), 40)
    run.run()
    trials = [
        trial
        for one in sweeps_of_campaign(run.workspace.database, run.campaign.id)
        for trial in one.trials
        if len(one.trials) >= 4
    ]
    counts = {one.attempt: one.fitness.measurements for one in trials if one.fitness is not None}
    assert max(counts.values()) >= 2 and list(counts.values()).count(1) > len(counts) / 3


@pytest.mark.parametrize("strategy", [DecisionSweep(), Auto("arms=value+sweep")])
def test_decisions_are_swept_the_same_way(tmp_path: Path, strategy: Strategy) -> None:
    run = SimulatedCampaign(tmp_path / "w", strategy, 30, NOISE, seed=3)
    run.run()
    (found,) = sweeps_of_campaign(run.workspace.database, run.campaign.id)
    assert found.sweep.space.size == 64 and not found.sweep.space.files
    assert len(found.trials) == 30, "every attempt is a trial, whoever proposed it"
    planned = [one for one in found.trials if one.plan.chance is not None]
    assert planned and all(one.choices.keys() == CHOICES.keys() for one in planned)
    if isinstance(strategy, DecisionSweep):
        best = fastest(found.trials)
        assert best is not None and best.fitness is not None
        assert best.fitness.level >= fastest_level() - 0.11, "at most one step from the best"


def test_an_unknown_sampler_is_refused() -> None:
    with pytest.raises(UsageError, match="strategy sweep: Invalid enum value 'guess'"):
        DecisionSweep("sampler=guess")


def test_a_sampler_that_is_not_installed_is_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(UsageError, match=r"kernelmill\[sweeps\]"):
        DecisionSweep("sampler=optuna")
