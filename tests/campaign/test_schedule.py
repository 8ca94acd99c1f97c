"""The order of tasks, with a judge that stays ready for some of them."""

from collections import OrderedDict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.campaign.schedule import LEAD, TaskProgress, most_at_once


class Simulated(NamedTuple):
    order: list[int]
    openings: int
    """How often the judge had to get ready for a task."""
    widest: int
    """The largest lead that any task had over another."""


def campaign(tasks: int, budget: int, capacity: int, at_once: int) -> Simulated:
    """A campaign with one judge that stays ready for the tasks it judged last."""
    begun = dict.fromkeys(range(tasks), 0)
    kept: OrderedDict[int, None] = OrderedDict()
    under_way: list[int] = []
    order, openings, widest = [], 0, 0
    seen: int | None = None
    while any(count < budget for count in begun.values()) or under_way:
        waiting = [task for task in begun if begun[task] < budget]
        turn = {
            task: TaskProgress(begun[task], task in under_way, task in kept).turn
            for task in waiting
        }
        chosen = min(waiting, key=lambda task: turn[task], default=None)
        if chosen is None or chosen in under_way or len(under_way) >= most_at_once(at_once, seen):
            done = under_way.pop(0)
            openings += done not in kept
            kept[done] = None
            kept.move_to_end(done)
            if len(kept) > capacity:
                kept.popitem(last=False)
                seen = len(kept)
            continue
        begun[chosen] += 1
        under_way.append(chosen)
        order.append(chosen)
        widest = max(widest, max(begun.values()) - min(begun.values()))
    return Simulated(order, openings, widest)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_every_task_gets_its_attempts_and_all_one_first(
    tasks: int, budget: int, capacity: int, at_once: int
) -> None:
    simulated = campaign(tasks, budget, capacity, at_once)
    assert sorted(simulated.order[:tasks]) == list(range(tasks))
    assert sorted(simulated.order) == sorted(task for task in range(tasks) for _ in range(budget))
    assert simulated.widest <= LEAD + at_once


def test_with_capacity_for_all_tasks_they_take_turns() -> None:
    simulated = campaign(tasks=5, budget=4, capacity=5, at_once=1)
    assert simulated.order == list(range(5)) * 4
    assert simulated.openings == 5


@pytest.mark.parametrize("capacity", [1, 2, 3, 4])
@pytest.mark.parametrize("at_once", [1, 3, 6])
def test_a_judge_without_capacity_for_all_does_not_get_ready_for_every_attempt(
    capacity: int, at_once: int
) -> None:
    simulated = campaign(tasks=20, budget=10, capacity=capacity, at_once=at_once)
    assert simulated.openings < 0.5 * len(simulated.order)
