"""The history of a task, read from the workspace."""

from kernelmill.generators.base import Parent
from kernelmill.strategies.base import History, seed_of
from kernelmill.workspace import Attempt, Campaign, Planned, Workspace


class StoredHistory(History):
    def __init__(self, workspace: Workspace, campaign: Campaign, task: int, seed: int) -> None:
        self._workspace = workspace
        self.backend = campaign.settings.backend
        self.seed = seed
        self.attempts = workspace.attempts(campaign, task)
        self.database = workspace.database

    def parent(self, attempt: Attempt) -> Parent:
        candidate = self._workspace.candidate(attempt)
        verdict = self._workspace.verdict(attempt.id)
        if candidate is None or verdict is None:
            raise ValueError(f"attempt {attempt.id} was declined and cannot be a parent")
        return Parent(attempt.id, candidate, verdict, attempt.decisions)

    def planned(self, attempt: Attempt) -> Planned | None:
        return self._workspace.planned(attempt.id)


def attempt_seed(campaign: Campaign, task: str, number: int) -> int:
    """With seed 0 the first attempt draws no lots: it is what the generator would do of itself."""
    drawn = number > 1 or campaign.settings.seed != 0
    return seed_of(campaign.settings.seed, task, number) if drawn else 0
