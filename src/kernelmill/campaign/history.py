"""The history of one task in a campaign, read from the workspace."""

from collections.abc import Sequence
from functools import cached_property

from kernelmill.memory import Memory
from kernelmill.memory.values import attempt_reward
from kernelmill.records.attempt import Attempt, AttemptPlan
from kernelmill.records.calibration import Calibration, calibrate
from kernelmill.records.campaign import Campaign
from kernelmill.records.proposal import ModelScore, Parent
from kernelmill.strategies.base import History, seed_of
from kernelmill.workspace import Workspace

_MOST_EARLIER = 40
"""Attempts of other campaigns on the task that a strategy may look at."""

_MOST_PREDICTIONS = 1000
"""Predictions of the campaign, the latest ones, that the calibration is about."""


class StoredHistory(History):
    def __init__(
        self, workspace: Workspace, campaign: Campaign, task: int, task_name: str, number: int
    ) -> None:
        self._workspace = workspace
        self._campaign = campaign
        self.backend = campaign.settings.backend
        self.number = number
        self.seed = attempt_seed(campaign, task_name, number)
        self._task = task
        self._read = 0
        """Attempts that were asked for, at most; `_recent` has them as far as there are so many."""
        self._recent: Sequence[Attempt] = ()
        self.memory = Memory(workspace.database)

    @cached_property
    def attempts(self) -> Sequence[Attempt]:  # type: ignore[override]
        return self._workspace.attempts(self._campaign, self._task)

    @cached_property
    def earlier(self) -> Sequence[Attempt]:  # type: ignore[override]
        found = self._workspace.attempts_elsewhere(self._campaign, self._task, _MOST_EARLIER)
        return tuple(attempt for attempt in found if attempt.is_judged)

    def recent(self, most: int) -> Sequence[Attempt]:
        if "attempts" in self.__dict__:
            return self.attempts[-most:]
        if most > self._read:
            self._read = most
            self._recent = self._workspace.recent_attempts(self._campaign, self._task, most)
        return self._recent[-most:]

    def attempt(self, number: int) -> Attempt | None:
        found = self._workspace.attempt(number)
        own = found.campaign == self._campaign.id and found.task == self._task
        return found if own else None

    @cached_property
    def model_scores(self) -> tuple[ModelScore, ...]:
        models = self._campaign.settings.models
        if models is None or len(models.models) < 2:
            return ()
        return model_scores(self._workspace, self._campaign)

    @cached_property
    def calibration(self) -> Calibration:
        return calibrate(self._workspace.recent_predictions(self._campaign, _MOST_PREDICTIONS))

    def parent(self, attempt: Attempt) -> Parent:
        candidate = self._workspace.candidate(attempt)
        verdict = self._workspace.verdict(attempt.id)
        if candidate is None or verdict is None:
            raise ValueError(f"attempt {attempt.id} was declined and cannot be a parent")
        return Parent(attempt.id, candidate, verdict, attempt.decisions)

    def planned(self, attempt: Attempt) -> AttemptPlan | None:
        return self._workspace.planned(attempt.id)


def model_scores(workspace: Workspace, campaign: Campaign) -> tuple[ModelScore, ...]:
    """The score of each model; an attempt counts for the model that answered last."""
    scores: dict[str, ModelScore] = {}
    for written in workspace.written_by_models(campaign):
        before = scores.get(written.model, ModelScore(written.model, 0, 0.0))
        is_counted = written.tokens_in is not None and written.tokens_out is not None
        scores[written.model] = ModelScore(
            written.model,
            before.attempts + 1,
            before.reward + attempt_reward(written.ratio, written.best_before),
            before.counted + is_counted,
            before.tokens_in + ((written.tokens_in or 0) if is_counted else 0),
            before.tokens_out + ((written.tokens_out or 0) if is_counted else 0),
        )
    return tuple(scores[model] for model in sorted(scores))


def attempt_seed(campaign: Campaign, task: str, number: int) -> int:
    """With campaign seed 0, the first attempt has seed 0: the generator uses its defaults."""
    is_random = number > 1 or campaign.settings.seed != 0
    return seed_of(campaign.settings.seed, task, number) if is_random else 0
