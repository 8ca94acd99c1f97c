"""Whose turn it is, with a judge that has room for some tasks."""

from collections import OrderedDict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.campaign.turns import LEAD, Progress, most_at_once


class Day(NamedTuple):
    order: list[int]
    openings: int
    """How often the judge had to get ready for a task."""
    widest: int
    """The largest lead that any task had over another."""


def campaign(tasks: int, budget: int, room: int, at_once: int) -> Day:
    """Who comes when, as a judge does one after the other and keeps what it used last."""
    begun = dict.fromkeys(range(tasks), 0)
    kept: OrderedDict[int, None] = OrderedDict()
    under_way: list[int] = []
    order, openings, widest = [], 0, 0
    seen: int | None = None
    while any(count < budget for count in begun.values()) or under_way:
        waiting = [task for task in begun if begun[task] < budget]
        turn = {
            task: Progress(begun[task], task in under_way, task in kept).turn for task in waiting
        }
        chosen = min(waiting, key=lambda task: turn[task], default=None)
        if chosen is None or chosen in under_way or len(under_way) >= most_at_once(at_once, seen):
            done = under_way.pop(0)
            openings += done not in kept
            kept[done] = None
            kept.move_to_end(done)
            if len(kept) > room:
                kept.popitem(last=False)
                seen = len(kept)
            continue
        begun[chosen] += 1
        under_way.append(chosen)
        order.append(chosen)
        widest = max(widest, max(begun.values()) - min(begun.values()))
    return Day(order, openings, widest)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_every_task_gets_its_attempts_and_all_one_first(
    tasks: int, budget: int, room: int, at_once: int
) -> None:
    day = campaign(tasks, budget, room, at_once)
    assert sorted(day.order[:tasks]) == list(range(tasks))
    assert sorted(day.order) == sorted(task for task in range(tasks) for _ in range(budget))
    assert day.widest <= LEAD + at_once


def test_with_room_for_all_they_take_turns() -> None:
    day = campaign(tasks=5, budget=4, room=5, at_once=1)
    assert day.order == list(range(5)) * 4
    assert day.openings == 5


@pytest.mark.parametrize("room", [1, 2, 3, 4])
@pytest.mark.parametrize("at_once", [1, 3, 6])
def test_a_judge_without_room_for_all_does_not_get_ready_for_every_attempt(
    room: int, at_once: int
) -> None:
    day = campaign(tasks=20, budget=10, room=room, at_once=at_once)
    assert day.openings < 0.5 * len(day.order)
