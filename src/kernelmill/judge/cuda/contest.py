"""The latency gate on a GPU: batches in turn, the clock outside, every answer checked.

A runner could answer before its work on the device is done. So right behind each of the
candidate's batches, while it is stopped, the examiner does work of which it knows how long it takes
on an idle device; whoever still computes then shares the device with it, and shows.
"""

import math
import statistics
from contextlib import nullcontext
from typing import Any

import msgspec
import numpy as np

from kernelmill.judge.cuda.examined import Examiner
from kernelmill.judge.cuda.protocol import AuditRequest, CaseRequest, RingMade
from kernelmill.judge.latency import Contestant, Samples, TimedAnswerWrong, has_lost, settled
from kernelmill.judge.placement import placed
from kernelmill.judge.settings import Settings
from kernelmill.judge.statistics import typical
from kernelmill.judge.subject import Subject, Timing, blaming_reference
from kernelmill.judge.verdict import Profile
from kernelmill.sandbox import CellProtocolError
from kernelmill.sandbox.cell import Timed

_WARM_UP_ROUNDS = 2
_CALIBRATIONS = 9
_RELAXED_BATCHES = 7
_CHECKED_ELEMENTS = 1 << 26
_THOROUGH_ROUNDS = 3
_THOROUGH_ELEMENTS = 1 << 29
_MOST_CHECKED_CALLS = 64
"""Timed calls whose answers are compared in a round: at least one, every element of it."""
_SECONDS = 60.0
_WAITED_SHARE = 0.04
_LEAST_ROUNDS = 8
_BUSY = 1.5
"""Known work that takes this many times what it takes on an idle device has company."""
_MOST_BUSY_SHARE = 0.25
"""In more rounds than this the candidate may not leave the device busy."""


class DeviceContest:
    """One candidate against its baselines, eager first."""

    def __init__(
        self,
        candidate: Contestant,
        examiner: Examiner,
        baselines: list[Contestant],
        ring: RingMade,
        case: CaseRequest,
        settings: Settings,
    ) -> None:
        self._candidate = candidate
        self._examiner = examiner
        self._subjects = [candidate.subject, *(c.subject for c in baselines)]
        self._ring = ring
        self._case = case
        self._settings = settings
        self._rows: list[list[float]] = [[] for _ in self._subjects]
        self._waits: list[float] = []
        self._works: list[Timed] = []
        self._nulls: list[int] = []
        self._generator = np.random.default_rng()

    def run(self, rounds: int, repeats: int) -> Samples:
        """Raises TimedAnswerWrong; the candidate is stopped afterwards, the others are not."""
        self._attach()
        cells = [subject.cell for subject in (*self._subjects, self._examiner.subject)]
        try:
            with placed(cells, self._settings.places()):
                self._calibrate()
                for _ in range(_WARM_UP_ROUNDS):
                    self._round(thorough=False)
                self._rows = [[] for _ in self._subjects]
                self._waits, self._works, self._nulls = [], [], []
                self._measure(rounds, repeats)
        finally:
            with blaming_reference():
                for cell in cells[1:]:
                    cell.resume()
        return self._samples()

    def relaxed(self) -> float:
        """Nanoseconds a call of eager, where it may use shorter types."""
        eager, examiner = self._subjects[1], self._examiner.subject
        with blaming_reference():
            eager.tell({"do": "relax", "allowed": True}, _SECONDS)
            examiner.cell.stop()
            eager.cell.stop()
            batches = []
            for _ in range(_RELAXED_BATCHES):
                batches.append(eager.batch(self._ring.slots, _SECONDS).nanoseconds)
                self._examiner.quiet()
            examiner.cell.resume()
            eager.cell.resume()
            eager.tell({"do": "relax", "allowed": False}, _SECONDS)
        taken = statistics.median(batches) - typical(np.asarray(self._nulls, np.float64))
        return max(1.0, taken) / self._ring.slots

    def _measure(self, rounds: int, repeats: int) -> None:
        """In stages of half the rounds: on a device little gets in the way of settling."""
        stage = max(_LEAST_ROUNDS, rounds // 2)
        thorough = set(self._generator.choice(stage, _THOROUGH_ROUNDS).tolist())
        for _ in range(2 * (1 + repeats)):
            self._stage(stage, thorough)
            if self._has_lost() or settled(self._samples(), stage):
                break

    def _stage(self, rounds: int, thorough: set[int]) -> None:
        """Some rounds more. If the device is found busy behind them they do not count, and are run
        again: somebody else may have been on it, once."""
        before = len(self._waits)
        for last in (False, True):
            for _ in range(rounds):
                self._round(thorough=len(self._waits) in thorough)
                if self._has_lost():
                    break
            busy = self._busy_share(before)
            if busy <= _MOST_BUSY_SHARE:
                return
            if last:
                raise TimedAnswerWrong(
                    f"the device goes on computing after it has answered, in {busy:.0%} of the "
                    "rounds"
                )
            gone: tuple[list[Any], ...] = (*self._rows, self._waits, self._works, self._nulls)
            for one in gone:
                del one[before:]

    def _has_lost(self) -> bool:
        return has_lost(*self._rows[:2])

    def _attach(self) -> None:
        request = {
            "do": "ring",
            "layout": msgspec.to_builtins(self._ring.layout),
            "inputs": msgspec.to_builtins(self._ring.inputs),
            "slots": self._ring.slots,
            "slot_width": (len(self._ring.layout.tensors) - len(self._ring.state))
            // self._ring.slots,
            "state": self._ring.state,
        }
        for subject in (*self._subjects, self._examiner.subject):
            with nullcontext() if subject is self._candidate.subject else blaming_reference():
                subject.tell(request, self._settings.seconds)
                subject.cell.stop()

    def _calibrate(self) -> None:
        """What known work takes on an idle device that another process has just had: its change of
        hands takes time too."""
        works = []
        for _ in range(_CALIBRATIONS):
            with blaming_reference():
                self._subjects[1].batch(self._ring.slots, _SECONDS, "null")
            works.append(self._examiner.quiet().nanoseconds)
        self._idle = statistics.median(works)

    def _round(self, thorough: bool) -> None:
        with blaming_reference():
            self._examiner.subject.cell.resume()
        self._examiner.refresh()
        with blaming_reference():
            self._examiner.subject.cell.stop()
        order = range(len(self._subjects))
        timings: dict[int, Timing] = {}
        for index in order if len(self._waits) % 2 == 0 else reversed(order):
            timings[index] = self._batch(self._subjects[index])
            # Also behind a baseline: the device comes to all of them from the same hands.
            work = self._examiner.quiet()
            if index == 0:
                self._works.append(work)
        self._nulls.append(self._null())
        for index, row in enumerate(self._rows):
            row.append(timings[index].nanoseconds)
        self._waits.append(max(t.waited / t.nanoseconds for t in timings.values()))
        with blaming_reference():
            self._examiner.subject.cell.resume()
        self._audit(timings[0], thorough)
        with blaming_reference():
            self._examiner.subject.cell.stop()

    def _batch(self, subject: Subject) -> Timing:
        with nullcontext() if subject is self._candidate.subject else blaming_reference():
            return subject.batch(self._ring.slots, self._settings.seconds)

    def _null(self) -> int:
        """What a batch costs beside its calls: by the baseline, whom nobody could have told."""
        with blaming_reference():
            taken = self._subjects[1].batch(self._ring.slots, _SECONDS, "null").nanoseconds
        self._examiner.quiet()
        return taken

    def _audit(self, timing: Timing, thorough: bool) -> None:
        slots, outputs = self._ring.slots, self._candidate.outputs
        pointers = timing.pointers
        if len(pointers) != slots or any(len(call) != len(outputs) for call in pointers):
            raise CellProtocolError("a timed batch without all its outputs")
        elements = sum(math.prod(output.shape) for output in outputs)
        most = _THOROUGH_ELEMENTS if thorough else _CHECKED_ELEMENTS
        count = max(1, min(slots, _MOST_CHECKED_CALLS, most // max(1, elements)))
        calls = self._generator.choice(slots, count, replace=False).tolist()
        said = self._examiner.audit(AuditRequest(self._case, outputs, pointers, calls))
        if said.foreign:
            raise TimedAnswerWrong("in a timed call an output is not in the runner's own memory")
        if said.wrong:
            raise TimedAnswerWrong(
                f"in a timed call {said.wrong} of {said.looked_at} elements looked at are wrong"
            )
        if said.norm > 1:
            raise TimedAnswerWrong(
                f"a timed call is too inexact: {said.norm:.1f} times the error budget"
            )

    def _busy_share(self, since: int) -> float:
        """By the work that did not have to wait for a processor; all of it where that is little."""
        seen = self._works[since:]
        quiet = [w for w in seen if w.waited <= _WAITED_SHARE * w.nanoseconds]
        works = quiet if len(quiet) >= _LEAST_ROUNDS // 2 else seen
        return sum(w.nanoseconds > _BUSY * self._idle for w in works) / len(works)

    def _samples(self) -> Samples:
        """The undisturbed rounds; all of them where those are too few."""
        batches = np.asarray(self._rows, np.float64)
        rows = np.maximum(1.0, batches - typical(np.asarray(self._nulls, np.float64)))
        rows /= self._ring.slots
        quiet = np.asarray(self._waits) <= _WAITED_SHARE
        chosen = rows[:, quiet] if quiet.sum() >= _LEAST_ROUNDS else rows
        nothing = Profile(0, 0.0, 0.0, 0.0)
        return Samples(chosen[0], list(chosen[1:]), float(1 - quiet.mean()), nothing)
