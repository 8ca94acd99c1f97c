"""The judgement on one attempt: a verdict, and a second one before it may become the champion."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.campaign.watcher import Watcher
from kernelmill.judge import Judge
from kernelmill.records.attempt import Remeasured
from kernelmill.records.candidate import Candidate
from kernelmill.records.proposal import Parent
from kernelmill.records.task import Task
from kernelmill.records.verdict import MARGIN, Verdict


class Judged(NamedTuple):
    verdict: Verdict
    confirming: Verdict | None
    champion: bool
    seconds: float
    remeasured: tuple[Remeasured, ...] = ()

    @property
    def deciding(self) -> Verdict:
        return self.confirming or self.verdict


def judge_candidate(
    judge: Judge,
    task: Task,
    candidate: Candidate,
    incumbent: float | None,
    watcher: Watcher,
    objection: str = "",
    confirm_above: float | None = None,
    remeasure: Sequence[Parent] = (),
) -> Judged:
    """The verdict, and a confirming one from a new process where the candidate beats the incumbent
    (the champion's ratio, None where there is none) or the strategy asks for it, and time is
    measured, not modelled. Then the verdicts on earlier attempts that are measured again."""
    begun = time.perf_counter()
    watcher.working(task.id, "judging")
    verdict = judge.verify(task, candidate, brief=True, objection=objection)
    confirming = None
    champion = _beats(verdict, (1 + MARGIN) * (incumbent or 0.0))
    asked = confirm_above is not None and _beats(verdict, confirm_above)
    measured = not judge.backend.deterministic_timing
    if measured and (asked or (champion and incumbent is not None)):
        watcher.working(task.id, "confirming")
        confirming = judge.verify(task, candidate, brief=True)
        champion = champion and _beats(confirming, incumbent or 0.0)
    remeasured = []
    for earlier in remeasure if measured else ():
        watcher.working(task.id, "measuring again")
        again = judge.verify(task, earlier.candidate, brief=True)
        remeasured.append(Remeasured(earlier.attempt, again))
    seconds = time.perf_counter() - begun
    return Judged(verdict, confirming, champion, seconds, tuple(remeasured))


def _beats(verdict: Verdict, ratio: float) -> bool:
    if not verdict.passed or verdict.latency is None:
        return False
    return verdict.latency.over_baseline.ratio > ratio
