"""Pareto fronts: nobody on one is beaten in both, and nobody beside it is unbeaten."""

import random
import time
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.records.attempt import AttemptResources
from kernelmill.records.verdict import MARGIN, Resources
from kernelmill.report import summarise_campaign, write_page
from kernelmill.report.pareto import Cost, pareto_front
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, new_tasks

MIB = 1 << 20


def cost(attempt: int, speed: float, amount: int) -> Cost:
    return Cost(AttemptResources(1, attempt, 1.0, speed, amount, None), float(amount))


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=40))
def test_a_front_holds_exactly_those_that_are_not_beaten(points: list[tuple[int, int]]) -> None:
    costs = [
        cost(number, speed / 10, 100 * amount) for number, (speed, amount) in enumerate(points)
    ]
    front = [one.attempt for one in pareto_front(costs)]
    assert front == sorted(front, key=lambda number: -costs[number].attempt.speed)
    for one in costs:
        better = [
            other.attempt.attempt
            for other in costs
            if other is not one
            and other.attempt.speed >= one.attempt.speed
            and other.amount <= one.amount / (1 - MARGIN)
        ]
        if one.attempt.attempt in front:
            equals = {
                n
                for n in better
                if costs[n][1] == one.amount and points[n] == points[one.attempt.attempt]
            }
            assert set(better) == equals
        else:
            assert better


def test_a_front_of_100_000_kernels_takes_no_time() -> None:
    rng = random.Random(1)
    costs = [cost(n, rng.lognormvariate(0, 1), rng.randrange(1, 1 << 40)) for n in range(100_000)]
    began = time.process_time()
    front = pareto_front(costs)
    assert time.process_time() - began < 5.0 and 2 < len(front) < 1000


def test_the_report_shows_the_front_of_a_task(tmp_path: Path) -> None:
    story = ((2.0, 40 * MIB), (1.5, 10 * MIB), (1.4, 30 * MIB), (1.0, None), (None, 1))
    with Workspace(tmp_path / "w", create=True) as workspace:
        settings = msgspec.structs.replace(SETTINGS, budget=len(story))
        campaign = workspace.create_campaign(settings, new_tasks("one"))
        for number, (ratio, peak) in enumerate(story):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            result = make_result(ratio, str(number), champion=number == 0)
            assert result.verdict is not None
            verdict = msgspec.structs.replace(result.verdict, resources=Resources(peak))
            done = msgspec.structs.replace(result, verdict=verdict)
            attempt = workspace.complete(claim, done, lambda *_: None)
            assert attempt.peak_bytes == (peak if ratio else None)
        summary = summarise_campaign(workspace, campaign)
        write_page(summary, tmp_path / "report.html")
    (front,) = summary.fronts
    assert (front.resource, front.compared) == ("memory", 3)
    assert [one.attempt for one in front.attempts] == [1, 2]
    page = (tmp_path / "report.html").read_text()
    assert (
        "Speed against memory" in page and "<td>40.0</td>" in page and "<td>30.0</td>" not in page
    )
