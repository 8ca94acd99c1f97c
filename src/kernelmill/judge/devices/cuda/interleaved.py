"""Interleaved timing on a GPU: candidate and baselines in turn, with checks of the outputs.

A runner could answer before its work on the device is done. So right after each of the candidate's
batches, while it is stopped, the examiner runs a probe: work that takes a known time on an idle
device. The probe takes longer if the candidate is still computing.
"""

import math
import statistics
from contextlib import nullcontext
from typing import Any

import msgspec
import numpy as np

from kernelmill.judge.devices.cuda.examiner_handle import ExaminerHandle
from kernelmill.judge.devices.cuda.protocol import CaseRequest, RingMade, TimedCheckRequest
from kernelmill.judge.placement import pinned
from kernelmill.judge.runner_handle import RunnerHandle, Timing, attributed_to_reference
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.statistics import typical_time
from kernelmill.judge.timing import (
    Samples,
    TimedAnswerWrong,
    TimedOutputsShared,
    TimedRunner,
    is_hopeless,
    is_settled,
    outputs_overlap,
)
from kernelmill.records.numerics import Numerics
from kernelmill.records.verdict import Profile
from kernelmill.sandbox import SandboxProtocolError
from kernelmill.sandbox.process import Timed

_WARM_UP_ROUNDS = 2
_CALIBRATIONS = 9
_EAGER_BATCHES = 7
_CHECKED_ELEMENTS = 1 << 26
_THOROUGH_ROUNDS = 3
_THOROUGH_ELEMENTS = 1 << 29
_MOST_CHECKED_CALLS = 64
"""Limits of the calls and elements compared per round, in most rounds and in thorough ones; at
least one call is compared, with all its elements."""
_SECONDS = 60.0
_MOST_WAITED_SHARE = 0.04
"""A round is disturbed where a runner waited for a processor for more than this share of it."""
_LEAST_ROUNDS = 8
"""Number of undisturbed rounds below which disturbed ones are used too."""
_BUSY_FACTOR = 1.5
"""The device is busy where a probe takes this many times as long as on an idle device."""
_MOST_BUSY_SHARE = 0.25
"""Share of the rounds after which the candidate may leave the device busy."""


class DeviceTiming:
    """One candidate against its baselines, eager first, on one ring of inputs."""

    def __init__(
        self,
        candidate: TimedRunner,
        examiner: ExaminerHandle,
        baselines: list[TimedRunner],
        ring: RingMade,
        case: CaseRequest,
        settings: JudgeSettings,
    ) -> None:
        self._candidate = candidate
        self._examiner = examiner
        self._runners = [candidate.runner, *(baseline.runner for baseline in baselines)]
        self._ring = ring
        self._case = case
        self._settings = settings
        self._rows: list[list[float]] = [[] for _ in self._runners]
        self._waits: list[float] = []
        self._probes: list[Timed] = []
        self._empty_batches: list[int] = []
        self._rng = np.random.default_rng()

    def run(self, rounds: int, repeats: int) -> Samples:
        """Run timed rounds. Raises TimedAnswerWrong.

        Afterwards the candidate is stopped, and the other runners are not.
        """
        self._attach()
        sandboxes = [runner.sandbox for runner in (*self._runners, self._examiner.runner)]
        try:
            with pinned(sandboxes, self._settings.thread_processors()):
                self._calibrate()
                for _ in range(_WARM_UP_ROUNDS):
                    self._round(thorough=False)
                self._rows = [[] for _ in self._runners]
                self._waits, self._probes, self._empty_batches = [], [], []
                self._measure(rounds, repeats)
        finally:
            with attributed_to_reference():
                for sandbox in sandboxes[1:]:
                    sandbox.resume()
        return self._samples()

    def time_eager(self, numerics: Numerics, afterwards: Numerics) -> float:
        """Nanoseconds per call of eager with other numerics than the task's."""
        eager = self._runners[1]
        with attributed_to_reference():
            eager.tell({"do": "compute_with", "numerics": numerics}, _SECONDS)
            self._examiner.stop()
            eager.sandbox.stop()
            batches = []
            for _ in range(_EAGER_BATCHES):
                batches.append(eager.batch(self._ring.slots, _SECONDS).nanoseconds)
                self._examiner.time_probe()
            self._examiner.resume()
            eager.sandbox.resume()
            eager.tell({"do": "compute_with", "numerics": afterwards}, _SECONDS)
        taken = statistics.median(batches) - self._batch_overhead()
        return max(1.0, taken) / self._ring.slots

    def _measure(self, rounds: int, repeats: int) -> None:
        """Run stages of half the rounds, which often suffice on a device, until it is settled."""
        stage = max(_LEAST_ROUNDS, rounds // 2)
        thorough = set(self._rng.choice(stage, _THOROUGH_ROUNDS).tolist())
        for _ in range(2 * (1 + repeats)):
            self._stage(stage, thorough)
            if self._is_hopeless() or is_settled(self._samples(), stage):
                break

    def _stage(self, rounds: int, thorough: set[int]) -> None:
        """Run some more rounds.

        They are discarded and run again once if they leave the device busy, since another process
        may have used it. Raises TimedAnswerWrong if the device is busy again.
        """
        before = len(self._waits)
        for last in (False, True):
            for _ in range(rounds):
                self._round(thorough=len(self._waits) in thorough)
                if self._is_hopeless():
                    break
            busy = self._busy_share(before)
            if busy <= _MOST_BUSY_SHARE:
                return
            if last:
                raise TimedAnswerWrong(
                    f"the device is still computing after the answer in {busy:.0%} of the rounds"
                )
            series: list[list[Any]] = [*self._rows, self._waits, self._probes, self._empty_batches]
            for one in series:
                del one[before:]

    def _is_hopeless(self) -> bool:
        return is_hopeless(*self._rows[:2])

    def _attach(self) -> None:
        request = {
            "do": "ring",
            "layout": msgspec.to_builtins(self._ring.layout),
            "inputs": msgspec.to_builtins(self._ring.inputs),
            "slots": self._ring.slots,
            "slot_width": self._ring.slot_width,
            "state": self._ring.state,
            "parameters": self._ring.parameters,
        }
        for runner in (*self._runners, self._examiner.runner):
            with nullcontext() if runner is self._candidate.runner else attributed_to_reference():
                runner.tell(request, self._settings.seconds)
                runner.sandbox.stop()

    def _calibrate(self) -> None:
        """Time the probe on an idle device just after another process has used it, since switching
        between processes takes time too."""
        probes = []
        for _ in range(_CALIBRATIONS):
            with attributed_to_reference():
                self._runners[1].batch(self._ring.slots, _SECONDS, "empty_batch")
            probes.append(self._examiner.time_probe().nanoseconds)
        self._idle_probe = statistics.median(probes)

    def _round(self, thorough: bool) -> None:
        self._examiner.resume()
        self._examiner.refresh()
        self._examiner.stop()
        order = range(len(self._runners))
        timings: dict[int, Timing] = {}
        for index in order if len(self._waits) % 2 == 0 else reversed(order):
            timings[index] = self._batch(self._runners[index])
            # Also after a baseline, so that the same process has used the device before each batch.
            probe = self._examiner.time_probe()
            if index == 0:
                self._probes.append(probe)
        self._empty_batches.append(self._time_empty_batch())
        for index, row in enumerate(self._rows):
            row.append(timings[index].nanoseconds)
        self._waits.append(max(t.waited / t.nanoseconds for t in timings.values()))
        self._examiner.resume()
        self._check(timings[0], thorough)
        self._examiner.stop()

    def _batch(self, runner: RunnerHandle) -> Timing:
        with nullcontext() if runner is self._candidate.runner else attributed_to_reference():
            return runner.batch(self._ring.slots, self._settings.seconds)

    def _time_empty_batch(self) -> int:
        """Nanoseconds of a batch of empty calls, taken by the baseline, which is trusted."""
        with attributed_to_reference():
            taken = self._runners[1].batch(self._ring.slots, _SECONDS, "empty_batch").nanoseconds
        self._examiner.time_probe()
        return taken

    def _batch_overhead(self) -> float:
        return typical_time(np.asarray(self._empty_batches, np.float64))

    def _check(self, timing: Timing, thorough: bool) -> None:
        """Let the examiner compare the candidate's outputs. Raises TimedAnswerWrong."""
        slots, outputs = self._ring.slots, self._candidate.outputs
        pointers = timing.pointers
        if len(pointers) != slots or any(len(call) != len(outputs) for call in pointers):
            raise SandboxProtocolError("a timed batch without all its outputs")
        if outputs_overlap(pointers, outputs):
            raise TimedOutputsShared("outputs of several calls share memory")
        elements = sum(math.prod(output.shape) for output in outputs)
        most = _THOROUGH_ELEMENTS if thorough else _CHECKED_ELEMENTS
        count = max(1, min(slots, _MOST_CHECKED_CALLS, most // max(1, elements)))
        calls = self._rng.choice(slots, count, replace=False).tolist()
        request = TimedCheckRequest(self._case, outputs, pointers, calls)
        check = self._examiner.check_timed(request)
        if check.foreign:
            raise TimedAnswerWrong("in a timed call an output is not in the runner's own memory")
        if check.wrong:
            raise TimedAnswerWrong(
                f"in a timed call {check.wrong} of {check.compared} compared elements are wrong"
            )
        if check.norm > 1:
            raise TimedAnswerWrong(
                f"a timed call is too inexact: {check.norm:.1f} times the error budget"
            )

    def _busy_share(self, since: int) -> float:
        """Share of probes that found the device busy.

        Probes that waited for a processor are left out, unless few others remain.
        """
        everything = self._probes[since:]
        undisturbed = [p for p in everything if p.waited <= _MOST_WAITED_SHARE * p.nanoseconds]
        probes = undisturbed if len(undisturbed) >= _LEAST_ROUNDS // 2 else everything
        return sum(p.nanoseconds > _BUSY_FACTOR * self._idle_probe for p in probes) / len(probes)

    def _samples(self) -> Samples:
        """The undisturbed rounds, or all rounds where those are too few."""
        batches = np.asarray(self._rows, np.float64)
        rows = np.maximum(1.0, batches - self._batch_overhead()) / self._ring.slots
        undisturbed = np.asarray(self._waits) <= _MOST_WAITED_SHARE
        chosen = rows[:, undisturbed] if undisturbed.sum() >= _LEAST_ROUNDS else rows
        disturbed = float(1 - undisturbed.mean())
        return Samples(chosen[0], list(chosen[1:]), disturbed, Profile(0, 0.0, 0.0, 0.0))
