"""The judges of a campaign: one, or one a device, each leased to one attempt at a time."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelmill.backends.base import Device
from kernelmill.candidate import Candidate
from kernelmill.judge import Judge
from kernelmill.tasks.task import Task


class Retired(Exception):
    """Nobody judges here any more."""


class Panel:
    """Safe to use from several threads. A measurement is alone on its device: it has the lease."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._judges = tuple(judges)
        self._free = list(judges)
        self._change = threading.Condition()
        self._retired = False

    def __len__(self) -> int:
        return len(self._judges)

    @property
    def is_apart(self) -> bool:
        """Whether it measures on devices of their own, so that programs on the processors go on."""
        return all(judge.backend.device is Device.CUDA for judge in self._judges)

    def is_ready_for(self, task: Task) -> bool:
        """Whether any of them has judged it and could go on at once."""
        return any(judge.is_ready_for(task) for judge in self._judges)

    @property
    def room(self) -> int | None:
        """For how many tasks they stay ready together; None where that has not been seen."""
        rooms = [judge.room for judge in self._judges]
        known = [room for room in rooms if room is not None]
        return sum(known) if len(known) == len(rooms) else None

    @contextmanager
    def lease(self, task: Task) -> Iterator[Judge]:
        """A judge for oneself: who is ready for the task, or who has waited longest.

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
        """As a judge does it. Needs no lease, and what is built serves all of them."""
        return self._judges[0].build_ahead(task, candidate)

    def retire(self) -> None:
        """Nobody gets a lease after this; returns when nobody has one any more."""
        with self._change:
            self._retired = True
            self._change.notify_all()
            self._change.wait_for(lambda: len(self._free) == len(self._judges))
