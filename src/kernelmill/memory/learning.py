"""What happens to a memory when an attempt is stored: values move, items are added."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kernelmill.generators.base import Stage
from kernelmill.memory.items import ItemKind, Role
from kernelmill.memory.lessons import Lessons
from kernelmill.memory.store import Memory
from kernelmill.memory.values import Value, draft_reward, refine_reward
from kernelmill.workspace import Attempt, Result

Step = Callable[[int], float]
"""The size of the next step, by the visits so far."""


class Earned(NamedTuple):
    """What an attempt was worth to whatever led to it."""

    role: Role
    reward: float


def learn(
    memory: Memory,
    attempt: Attempt,
    result: Result,
    *,
    generator: str,
    best_before: float | None,
    step: Step,
) -> Earned:
    """Move the value of everything that was shown, then remember the attempt itself."""
    family, backend = result.proposal.task.family, result.proposal.backend
    if attempt.stage == Stage.DRAFT or best_before is None:
        reward, role = draft_reward(attempt.ratio is not None), Role.DRAFT
    else:
        raw, role = refine_reward(attempt.ratio, best_before), Role.REFINE
        statistics = memory.statistics(backend)
        reward = statistics.normalised(raw)
        memory.set_statistics(backend, statistics.with_reward(raw))
    shown = [
        hint.item for hint in attempt.context if hint.item is not None and hint.kind != ItemKind.API
    ]
    move(memory, shown, role, family, reward, step)
    if attempt.parent is not None and role is Role.REFINE:
        starts = [item.id for item in memory.of_attempts([attempt.parent]).values()]
        move(memory, starts, Role.START, family, reward, step)
    lessons = Lessons(
        attempt,
        result,
        generator,
        best_before,
        reward,
        memory.known,
        partial(memory.passed, backend),
    )
    memory.add_all(list(lessons))
    return Earned(role, reward)


def move(
    memory: Memory, items: list[int], role: Role, family: str, reward: float, step: Step
) -> None:
    """One Monte-Carlo step for each item, over all families and for this one."""
    known = memory.values(items, role)
    for item in [found.id for found in memory.items(items)]:
        overall = known.get((item, ""), Value(0.0))
        own = known.get((item, family), Value(overall.value))
        memory.set_value(item, role, "", overall.moved(reward, step(overall.visits)))
        memory.set_value(item, role, family, own.moved(reward, step(own.visits)))
