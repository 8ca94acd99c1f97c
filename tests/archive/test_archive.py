"""The archive: who enters a cell, who stays, and what is no fitness."""

import math
import random

import numpy as np
import pytest

from archive.simulation import ISLANDS, Kernel, Population, make_kernel, verdict_of
from kernelmill.archive import Cell, Fitness, Outcome
from kernelmill.archive.archive import Birth
from kernelmill.archive.fitness import fitness_of, measured_speed
from kernelmill.archive.selection import diverse, exploration, parent_weights, spacing, top
from kernelmill.records.attempt import Remeasured
from kernelmill.records.verdict import MARGIN

ATTEMPTS, NOISE = 40, 0.05


@pytest.mark.parametrize("value", [True, 1, math.nan, math.inf, None, "1.0"])
def test_only_a_finite_float_is_a_fitness(value: object) -> None:
    with pytest.raises(TypeError):
        Fitness(value, 0.0, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fitness_of([value], 0.01)  # type: ignore[list-item]


def test_a_time_out_is_no_fitness_and_is_kept_apart() -> None:
    population = Population(0.0, 1)
    kernel = make_kernel(1, 0.0)
    refused = verdict_of(kernel, None, "time-out")
    assert measured_speed(refused) is None
    assert population.add(kernel, refused) is Outcome.FAILED
    assert population.archive.elites() == [] and population.archive.best() is None
    (offspring,) = population.archive.recent(10)
    assert (offspring.outcome, offspring.cell, offspring.speed) == (Outcome.FAILED, None, None)


def test_cell_owners_survive_all_but_faster_kernels_of_their_own_cell() -> None:
    population = Population(0.0, 1, islands=1)
    population.add(make_kernel(1, -1.0, passes=5, parallel=True))
    rng = random.Random(2)
    for number in range(2, 60):
        population.add(make_kernel(number, rng.uniform(0.0, 2.0), passes=1))
    slow = [one for one in population.archive.elites() if one.attempt == 1]
    assert len(slow) == 1, "a slow kernel owns its cell while nobody in it is faster"
    population.add(make_kernel(60, -1.1, passes=5, parallel=True))
    owners = {one.attempt for one in population.archive.elites()}
    assert 1 in owners and 60 not in owners
    population.add(make_kernel(61, -0.9, passes=5, parallel=True))
    owners = {one.attempt for one in population.archive.elites()}
    assert 61 in owners and 1 not in owners


def test_a_known_source_opens_no_cell() -> None:
    population = Population(0.0, 1, islands=1)
    kernel = make_kernel(1, 0.0)
    population.add(kernel)
    population.database.execute(
        "INSERT INTO attempts (id, campaign, task, number, state, owner, claimed_at, source) "
        "VALUES (1, 1, 1, 1, 'passed', '', '', ?)",
        (kernel.candidate.digest,),
    )
    assert population.add(kernel._replace(attempt=2, level=9.0)) is Outcome.KNOWN


def test_a_lucky_elite_does_not_stay() -> None:
    """Two lucky measurements make it the best; later ones take its rank and its cell."""
    population = Population(0.01, 3, islands=1)
    honest, lucky = make_kernel(1, 0.3), make_kernel(2, 0.0)
    population.add(honest, population.measure(honest), population.measure(honest))
    population.add(lucky, population.measure(lucky, 0.5), population.measure(lucky, 0.4))
    best = population.archive.best()
    assert best is not None and best.attempt == 2
    for number in range(3, 8):
        population.step(make_kernel(number, -1.0, passes=5))
    best = population.archive.best()
    assert best is not None and best.attempt == 1
    owners = {one.attempt for one in population.archive.elites()}
    assert 1 in owners and 2 not in owners, "the one that it drove out has its cell again"


def test_an_elite_that_is_refused_later_loses_its_cell() -> None:
    population = Population(0.0, 1, islands=1)
    wrong, right = make_kernel(1, 1.0), make_kernel(2, 0.5)
    population.add(wrong)
    population.add(right)
    again = Remeasured(1, verdict_of(wrong, None))
    population.add(make_kernel(3, -1.0, passes=5), remeasured=(again,))
    assert {one.attempt for one in population.archive.elites()} == {2, 3}
    best = population.archive.best()
    assert best is not None and best.attempt == 2


def test_diverse_elites_are_farther_apart_than_the_next_best() -> None:
    population = Population(0.0, 1, islands=1)
    number = 0
    for passes in (1, 2, 3, 5):
        for parallel in (False, True):
            number += 1
            population.add(make_kernel(number, 1.0 - 0.1 * number, passes, parallel))
    elites = population.archive.elites()
    fastest = top(elites, 2)
    unlike = diverse(elites, fastest, 2)
    next_best = [one for one in top(elites, 4) if one not in fastest]
    assert [one.attempt for one in unlike] != [one.attempt for one in next_best]
    assert min(spacing(one, fastest) for one in unlike) > min(
        spacing(one, fastest) for one in next_best
    )
    assert spacing(unlike[1], [unlike[0]]) > spacing(next_best[1], [next_best[0]])


def test_parents_are_fast_and_have_few_children() -> None:
    population = Population(0.0, 1, islands=1)
    population.add(make_kernel(1, 0.0, passes=1))
    population.add(make_kernel(2, 0.5, passes=5))
    slow, fast = sorted(population.archive.elites(), key=lambda one: one.attempt)
    first = parent_weights([slow, fast])
    assert first[1] > 5 * first[0]
    for number in range(3, 9):
        population.add(make_kernel(number, -1.0, passes=1), parent=2)
    slow, fast = sorted(population.archive.elites(), key=lambda one: one.attempt)
    assert fast.children == 6 and parent_weights([slow, fast])[1] < first[1] / 5


def test_exploration_grows_while_nothing_is_gained() -> None:
    population = Population(0.0, 1, islands=1)
    population.add(make_kernel(1, 0.0))
    population.add(make_kernel(2, 0.4), parent=1)
    gaining = exploration(population.archive.recent(20))
    for number in range(3, 20):
        population.add(make_kernel(number, -1.0), parent=2)
    assert exploration(population.archive.recent(20)) > gaining + 0.1


@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_the_best_of_the_archive_is_the_true_best_in_spite_of_noise(runs: int) -> None:
    """Kernels closer to each other than two processes that run the same kernel count as equal."""
    right, code = 0, make_kernel(0, 0.0).candidate
    vectors = np.eye(256, dtype=np.float32)
    for run in range(runs):
        rng, population = random.Random(run), Population(NOISE, 200 + run)
        for number in range(1, ATTEMPTS + 1):
            cell = Cell(rng.randrange(4), 0, rng.randrange(2), 0)
            place = Birth(number, number, (number - 1) % ISLANDS, cell, vectors[number])
            population.step(Kernel(number, rng.gauss(0.0, 0.2), code), place)
        population.settle()
        best = population.archive.best()
        assert best is not None
        fastest = max(kernel.level for kernel in population.kernels.values())
        right += population.kernels[best.attempt].level >= fastest - math.log1p(MARGIN)
    assert right >= 0.95 * runs
