"""The judgement on one attempt: a verdict, and a second one before it may become the champion."""

import time
from typing import NamedTuple

from kernelmill.campaign.watcher import Watcher
from kernelmill.judge import Judge
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import MARGIN, Verdict


class Judged(NamedTuple):
    verdict: Verdict
    confirming: Verdict | None
    champion: bool
    seconds: float


def judge_candidate(
    judge: Judge,
    task: Task,
    candidate: Candidate,
    incumbent: float | None,
    watcher: Watcher,
    objection: str = "",
) -> Judged:
    """The verdict, and a confirming one from a new process where the candidate beats the incumbent
    (the champion's ratio, None where there is none) and time is measured, not modelled."""
    begun = time.perf_counter()
    watcher.working(task.id, "judging")
    verdict = judge.verify(task, candidate, brief=True, objection=objection)
    confirming = None
    champion = _beats(verdict, (1 + MARGIN) * (incumbent or 0.0))
    if champion and incumbent is not None and not judge.backend.deterministic_timing:
        watcher.working(task.id, "confirming")
        confirming = judge.verify(task, candidate, brief=True)
        champion = _beats(confirming, incumbent)
    return Judged(verdict, confirming, champion, time.perf_counter() - begun)


def _beats(verdict: Verdict, ratio: float) -> bool:
    if not verdict.passed or verdict.latency is None:
        return False
    return verdict.latency.over_baseline.ratio > ratio
