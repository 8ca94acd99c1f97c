"""The judges of a campaign: one, or one per device, each leased to one attempt at a time."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelmill.judge import Judge
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict


class Retired(Exception):
    """The pool grants no further leases."""


class JudgePool:
    """May be used from several threads. The lease of a judge keeps a measurement alone on its
    device."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._judges = tuple(judges)
        self._free = list(judges)
        self._change = threading.Condition()
        self._retired = False

    def __len__(self) -> int:
        return len(self._judges)

    @property
    def is_separate(self) -> bool:
        """Whether timing happens on separate devices, so that CPU programs need not wait."""
        return all(judge.device.is_separate for judge in self._judges)

    def is_ready_for(self, task: Task) -> bool:
        """Whether any judge is ready for the task from an earlier attempt."""
        return any(judge.is_ready_for(task) for judge in self._judges)

    @property
    def is_checked_ahead(self) -> bool:
        """Whether tasks are made ready before a generator is asked."""
        return any(judge.device.is_checked_ahead for judge in self._judges)

    def get_ready(self, task: Task) -> None:
        """Make a judge ready for a task. Raises TaskError where it cannot be judged, or Retired."""
        with self.lease(task) as judge:
            judge.get_ready(task)

    def restore(self, task: Task, verdict: Verdict) -> None:
        """Tell every judge the first verdict on a task that passed."""
        for judge in self._judges:
            judge.restore(task, verdict)

    @property
    def ready_task_limit(self) -> int | None:
        """The number of tasks that all judges together stay ready for; None while unknown."""
        known = [
            judge.ready_task_limit for judge in self._judges if judge.ready_task_limit is not None
        ]
        return sum(known) if len(known) == len(self._judges) else None

    @contextmanager
    def lease(self, task: Task) -> Iterator[Judge]:
        """Exclusive use of a judge: one that is ready for the task, or the one idle the longest.

        Raises Retired.
        """
        with self._change:
            self._change.wait_for(lambda: self._retired or self._free)
            if self._retired:
                raise Retired
            judge = next((one for one in self._free if one.is_ready_for(task)), self._free[0])
            self._free.remove(judge)
        try:
            yield judge
        finally:
            with self._change:
                self._free.append(judge)
                self._change.notify_all()

    def build_ahead(self, task: Task, candidate: Candidate) -> bool:
        """Build for all judges, through their shared cache; see `Judge.build_ahead`."""
        return self._judges[0].build_ahead(task, candidate)

    def retire(self) -> None:
        """Grant no further lease, and wait until the last one has ended."""
        with self._change:
            self._retired = True
            self._change.notify_all()
            self._change.wait_for(lambda: len(self._free) == len(self._judges))
