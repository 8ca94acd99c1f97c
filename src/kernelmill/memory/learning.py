"""Learning from a finished attempt: value updates of what was shown, and new items."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kernelmill.memory.item_extraction import ExtractedItems
from kernelmill.memory.items import ItemKind, ValueRole
from kernelmill.memory.mending import acquit, mend
from kernelmill.memory.store import Memory
from kernelmill.memory.values import ValueEstimate, draft_reward, refine_reward
from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.proposal import Stage

StepSize = Callable[[int], float]
"""The size of the next update step, as a function of the visits so far."""


class AttemptReward(NamedTuple):
    """The reward of an attempt, and the role in which it counts."""

    role: ValueRole
    reward: float


def learn(
    memory: Memory,
    attempt: Attempt,
    result: Result,
    *,
    generator: str,
    best_before: float | None,
    step: StepSize,
    unused: float = 1.0,
) -> AttemptReward | None:
    """Update the values of everything that was shown, then add the items of the attempt.

    Only a verdict teaches. A generator that declined, or a runner that was lost, says nothing of
    what was shown: then nothing changes, and the reward is None.

    Items that were shown and not used move by the share `unused` of a step.
    """
    verdict = result.deciding
    if verdict is None or verdict.is_lost:
        return None
    family, backend = result.proposal.task.family, result.proposal.backend
    if attempt.stage == Stage.DRAFT or best_before is None:
        reward, role = draft_reward(attempt.ratio is not None), ValueRole.DRAFT
    else:
        raw, role = refine_reward(attempt.ratio, best_before), ValueRole.REFINE
        statistics = memory.statistics(backend)
        reward = statistics.normalised(raw)
        memory.set_statistics(backend, statistics.with_reward(raw))
    shown = _shown_items(attempt)
    update_values(memory, shown.used, role, family, reward, step)
    partly = partial(_scaled, step=step, share=unused)
    update_values(memory, shown.unused, role, family, reward, partly)
    if attempt.parent is not None and role is ValueRole.REFINE:
        starts = [item.id for item in memory.traces_of([attempt.parent]).values()]
        update_values(memory, starts, ValueRole.START, family, reward, step)
    extracted = ExtractedItems(
        attempt,
        result,
        generator,
        best_before,
        reward,
        memory.find,
        partial(memory.passed_decisions, backend),
    )
    memory.add_all(list(extracted))
    mend(memory, attempt, result)
    if verdict.passed:
        acquit(memory, attempt, result)
    return AttemptReward(role, reward)


class _ShownItems(NamedTuple):
    used: list[int]
    unused: list[int]


def _shown_items(attempt: Attempt) -> _ShownItems:
    """Items with a value that the writer was shown; all were used where it does not say."""
    shown = [
        hint.item for hint in attempt.context if hint.item is not None and hint.kind != ItemKind.API
    ]
    credit = attempt.credit
    if credit is None:
        return _ShownItems(shown, [])
    shown = [item for item in shown if item in credit.shown]
    return _ShownItems(
        [item for item in shown if item in credit.used],
        [item for item in shown if item not in credit.used],
    )


def _scaled(visits: int, step: StepSize, share: float) -> float:
    return share * step(visits)


def update_values(
    memory: Memory, items: list[int], role: ValueRole, family: str, reward: float, step: StepSize
) -> None:
    """One Monte-Carlo step for each item: of its overall value, and of its value for a family."""
    known = memory.values(items, role)
    for item in [found.id for found in memory.items(items)]:
        overall = known.get((item, ""), ValueEstimate(0.0))
        own = known.get((item, family), ValueEstimate(overall.value))
        memory.set_value(item, role, "", overall.updated(reward, step(overall.visits)))
        memory.set_value(item, role, family, own.updated(reward, step(own.visits)))
