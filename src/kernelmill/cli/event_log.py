"""A log of a campaign for programs: one JSON object per event, beside what people see."""

import datetime
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from kernelmill.campaign import RunLimits, Watcher
from kernelmill.records.attempt import Attempt
from kernelmill.records.campaign import Campaign, CampaignTask, Totals
from kernelmill.records.errors import UsageError


class LogWatcher(Watcher):
    """Writes every event to a file, and passes it on to another watcher."""

    def __init__(self, file: BinaryIO, other: Watcher) -> None:
        self._file = file
        self._other = other
        self._lock = threading.Lock()

    def _write(self, event: str, **fields: object) -> None:
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = msgspec.json.encode({"at": at, "event": event, **fields})
        with self._lock:
            self._file.write(line + b"\n")
            self._file.flush()

    def loading(self, loaded: int, tasks: int) -> None:
        self._write("loading", loaded=loaded, tasks=tasks)
        self._other.loading(loaded, tasks)

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        aside = {task.name: task.set_aside for task in tasks if task.set_aside is not None}
        self._write(
            "begun", workspace=str(workspace), campaign=campaign.id, tasks=len(tasks), aside=aside
        )
        self._other.begun(workspace, campaign, tasks, limits)

    def working(self, task: str, activity: str) -> None:
        self._write("working", task=task, activity=activity)
        self._other.working(task, activity)

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        self._write(
            "finished",
            attempt=attempt.id,
            task=attempt.task_name,
            number=attempt.number,
            state=attempt.state,
            gate=attempt.gate,
            ratio=attempt.ratio,
            reason=attempt.reason,
            cost_usd=attempt.cost_usd,
            champion=champion,
            totals=totals,
        )
        self._other.finished(attempt, champion, totals)

    def set_aside(self, task: str, reason: str) -> None:
        self._write("set aside", task=task, reason=reason)
        self._other.set_aside(task, reason)

    def paused(self, reason: str, seconds: float) -> None:
        self._write("paused", reason=reason, seconds=seconds)
        self._other.paused(reason, seconds)

    def interrupted(self) -> None:
        """Not written here: a signal handler must not wait for the lock."""
        self._other.interrupted()

    def stopping(self, in_flight: int) -> None:
        self._write("stopping", under_way=in_flight)
        self._other.stopping(in_flight)

    def aborted(self) -> None:
        self._write("aborted")
        self._other.aborted()


@contextmanager
def logging_to(path: Path | None, watcher: Watcher) -> Iterator[Watcher]:
    """The watcher itself where there is no file. Raises UsageError where it cannot be opened."""
    if path is None:
        yield watcher
        return
    try:
        file = path.open("ab")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with file:
        yield LogWatcher(file, watcher)
