"""Callbacks through which a campaign reports its progress."""

from collections.abc import Sequence
from pathlib import Path

from kernelmill.campaign.limits import RunLimits
from kernelmill.records.attempt import Attempt
from kernelmill.records.campaign import Campaign, CampaignTask, Totals


class Watcher:
    """Receives every event of a campaign and ignores it; a subclass overrides what it shows.

    `working` may be called from any thread, the others from the thread that runs the campaign.
    """

    def loading(self, loaded: int, tasks: int) -> None:
        """`loaded` of the `tasks` of a new campaign are loaded, or set aside; 0 at first."""

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        """Everything is checked and open; the first attempt of this run comes next."""

    def working(self, task: str, activity: str) -> None:
        """An activity on a task begins: `writing`, `judging`, `confirming`, `final measurement`."""

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        """An attempt is stored; `champion`: it is the best of its task now."""

    def set_aside(self, task: str, reason: str) -> None:
        """The task gets no further attempts in this campaign."""

    def paused(self, reason: str, seconds: float) -> None:
        """The generator does not answer; the next attempt begins after this time."""

    def interrupted(self) -> None:
        """The first Ctrl-C. Called at once, while attempts are under way."""

    def stopping(self, in_flight: int) -> None:
        """No further attempt begins; `in_flight` attempts are being finished."""

    def aborted(self) -> None:
        """A second Ctrl-C: KeyboardInterrupt is raised next, while threads are still at work."""
