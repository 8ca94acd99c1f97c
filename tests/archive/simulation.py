"""Archives filled by simulated kernels: known true speeds, measurements with artificial noise."""

import math
import random
from typing import NamedTuple

from kernelmill.archive import Archive, Outcome
from kernelmill.archive.archive import Birth, Newborn
from kernelmill.archive.fitness import measured_speed
from kernelmill.archive.selection import MOST_MEASUREMENTS, entry_bar, to_remeasure
from kernelmill.campaign.settling import AT_ONCE, ROUNDS
from kernelmill.conformance.histories import TASK, new_database
from kernelmill.records.attempt import Attempt, Observation, Remeasured, Result, Seconds, State
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.proposal import Draft, Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.verdict import Evidence, Feedback, Gate, Interval, Latency, Verdict
from kernelmill.strategies.evolve import EvolveSettings
from kernelmill.workspace import Transaction
from kernelmill.workspace.sql import query

ISLANDS = 2
DEFAULTS = EvolveSettings()
_EVIDENCE = Evidence("", "", "processor", 1, {}, "", "", "")
_LOOPS = "  for (int i = 0; i < n; ++i) y[i] = x[i];\n"


class Kernel(NamedTuple):
    """A kernel whose true speed is known."""

    attempt: int
    level: float
    candidate: Candidate


def make_kernel(attempt: int, level: float, passes: int = 1, parallel: bool = False) -> Kernel:
    """A kernel with some passes over the data; its behaviour follows from its code."""
    pragma = "#pragma omp parallel for\n" if parallel else ""
    body = (pragma + _LOOPS) * passes
    code = f'extern "C" void kernel(float* y, const float* x, int n) {{\n{body}}}\n// {attempt}\n'
    files = {"model.py": "class ModelNew: pass\n", "kernel.cpp": code}
    return Kernel(attempt, level, Candidate(files, Origin.COMPOSER))


def verdict_of(kernel: Kernel, speed: float | None, kind: str = "numerical") -> Verdict:
    """A measurement of this speed; a refusal for None."""
    latency, feedback = None, (Feedback(Gate.LATENCY, kind, "refused"),)
    if speed is not None:
        interval = Interval(speed, speed * 0.99, speed * 1.01)
        latency = Latency(1 / speed, 1.0, None, interval, None, 0.0, 0.0, 5, 1)
        feedback = ()
    return Verdict(
        TASK.id, "cpp", kernel.candidate.digest, speed is not None, Gate.LATENCY, feedback, (),
        latency, None, {}, _EVIDENCE,
    )  # fmt: skip


class Population:
    """An archive in RAM, and what the judge would have stored beside it."""

    def __init__(self, noise: float, seed: int, islands: int = ISLANDS) -> None:
        self.database: Transaction = new_database()
        self.archive = Archive(self.database, 1, 1)
        self.kernels: dict[int, Kernel] = {}
        self.islands = islands
        self._noise = noise
        self._rng = random.Random(seed)

    def measure(self, kernel: Kernel, luck: float | None = None) -> Verdict:
        """A verdict with noise, or with a given error of the measured level."""
        error = self._rng.gauss(0.0, self._noise) if luck is None else luck
        return verdict_of(kernel, math.exp(kernel.level + error))

    def add(
        self,
        kernel: Kernel,
        verdict: Verdict | None = None,
        confirming: Verdict | None = None,
        island: int | None = None,
        remeasured: tuple[Remeasured, ...] = (),
        operator: str = "edit",
        parent: int | None = None,
    ) -> Outcome | None:
        """Store an attempt as a workspace does, then let the archive observe it."""
        verdict = verdict or self.measure(kernel)
        self.kernels[kernel.attempt] = kernel
        place = (kernel.attempt - 1) % self.islands if island is None else island
        step = SearchStep("evolve", operator, place)
        before = None if parent is None else self._parent(parent)
        proposal = Proposal(TASK, "cpp", Stage.REFINE, kernel.attempt, before, step=step)
        draft = Draft(kernel.candidate, {"kernel": kernel.attempt})
        result = Result(
            proposal, Seconds(), draft, verdict, confirming, remeasured=remeasured
        )  # fmt: skip
        for one in (verdict, confirming):
            if one is not None:
                self._store(kernel.attempt, one)
        for again in remeasured:
            self._store(again.attempt, again.verdict)
        observation = Observation(self._attempt(kernel, result), result, None, "composer")
        return self.archive.observe(observation, self.islands)

    def step(self, kernel: Kernel, place: Birth | None = None) -> None:
        """One attempt of a campaign: confirmed above the bar, with others measured again.

        `place` says its behaviour where it is not read from its code.
        """
        island = (kernel.attempt - 1) % self.islands
        elites = self.archive.elites()
        again = to_remeasure(
            self.archive.contenders(), elites, DEFAULTS.remeasure, DEFAULTS.measurements
        )
        verdict, confirming = self.measure(kernel), None
        assert verdict.latency is not None
        bar = entry_bar([one for one in elites if one.island == island])
        if verdict.latency.over_baseline.ratio > bar:
            confirming = self.measure(kernel)
        remeasured = tuple(
            Remeasured(one.attempt, self.measure(self.kernels[one.attempt])) for one in again
        )
        if place is None:
            self.add(kernel, verdict, confirming, island, remeasured)
        else:
            self._take(kernel, place, [verdict, *([confirming] if confirming else [])], remeasured)

    def settle(self) -> None:
        """The closing race of a campaign."""
        for _ in range(ROUNDS):
            race = to_remeasure(self.archive.contenders(), (), AT_ONCE, MOST_MEASUREMENTS)
            for one in race:
                self._store(one.attempt, self.measure(self.kernels[one.attempt]))
                self.archive.remeasured(one.attempt, one.attempt)
            if not race:
                return

    def _take(
        self, kernel: Kernel, place: Birth, verdicts: list[Verdict],
        remeasured: tuple[Remeasured, ...],
    ) -> None:  # fmt: skip
        self.kernels[kernel.attempt] = kernel
        for verdict in verdicts:
            self._store(kernel.attempt, verdict)
        for again in remeasured:
            self._store(again.attempt, again.verdict)
            self.archive.remeasured(again.attempt, kernel.attempt)
        step = SearchStep("evolve", "edit", place.island)
        speed = measured_speed(verdicts[-1])
        source = str(kernel.attempt)
        number = kernel.attempt
        self.archive.take(Newborn(number, number, step, None, source, True, place, speed))

    def _store(self, attempt: int, verdict: Verdict) -> None:
        ratio = None if verdict.latency is None else verdict.latency.over_baseline.ratio
        self.database.execute(
            query("insert_measurement"), {"attempt": attempt, "ratio": ratio, "counted": 0}
        )

    def _parent(self, attempt: int) -> Parent:
        kernel = self.kernels[attempt]
        return Parent(attempt, kernel.candidate, verdict_of(kernel, math.exp(kernel.level)), {})

    def _attempt(self, kernel: Kernel, result: Result) -> Attempt:
        deciding = result.deciding
        latency = None if deciding is None else deciding.latency
        parent = result.proposal.parent
        return Attempt(
            id=kernel.attempt, campaign=1, task=1, task_name=TASK.id, number=kernel.attempt,
            state=State.PASSED if latency else State.REFUSED, stage=Stage.REFINE, seed=1,
            parent=None if parent is None else parent.attempt, gate=None, reason="",
            latency_ms=None, ratio=None if latency is None else latency.over_baseline.ratio,
            tokens_in=None, tokens_out=None, cost_usd=None, seconds=Seconds(), source=None,
            origin=None, instruction="", prediction="", decisions={}, context=(), done_at="",
        )  # fmt: skip
