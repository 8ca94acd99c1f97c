"""The loop: propose, write, build, judge, store, learn. All tasks advance together, as far as a
judge can be ready for all of them.

Every judge works in a thread of its own: one, or one a device. Writing and building run ahead of
them in others, for at most LOOKAHEAD attempts or as many as the generator answers at once; `quiet`
keeps them off the clock. This thread proposes and stores. A task has one attempt under way at a
time, so a proposal always knows every earlier verdict of its own task; of other tasks it may miss
those under way.
"""

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import NamedTuple

import msgspec

from kernelmill.campaign import quiet
from kernelmill.campaign.history import StoredHistory, attempt_seed
from kernelmill.campaign.limits import Ending, Limits
from kernelmill.campaign.panel import Panel
from kernelmill.campaign.turns import Progress, most_at_once
from kernelmill.campaign.watcher import Watcher
from kernelmill.errors import TaskError
from kernelmill.generators.base import (
    Audit,
    Declined,
    Draft,
    Generator,
    Proposal,
    Standing,
    Unaffordable,
)
from kernelmill.generators.calls import Call
from kernelmill.judge import Judge, Verdict
from kernelmill.judge.verdict import MARGIN
from kernelmill.strategies import History, Strategy
from kernelmill.tasks.task import Task
from kernelmill.workspace import Campaign, Claim, Result, Seconds, State, Workspace

LOOKAHEAD = 2
LOOKAHEAD_APART = 4
"""Where building and measuring do not wait for each other."""
NO_MONEY = "no money"
"""The event that says what could not be paid."""


class _Work(NamedTuple):
    """A task somebody still works on."""

    id: int
    task: Task


class _Prepared(NamedTuple):
    draft: Draft | None
    declined: str = ""
    in_vain: tuple[Call, ...] = ()
    unaffordable: bool = False
    objection: str = ""
    """An auditor's."""
    generate_seconds: float = 0.0
    build_seconds: float = 0.0


class _Judged(NamedTuple):
    verdict: Verdict
    confirming: Verdict | None
    champion: bool
    seconds: float


class _Done(NamedTuple):
    prepared: _Prepared
    judged: _Judged | None
    waited: float
    """Seconds a judge had nothing to do for it."""


class _UnderWay(NamedTuple):
    work: _Work
    claim: Claim
    proposal: Proposal
    done: Future[_Done]


class Loop:
    """One run of a campaign, until its budget is spent or a limit is reached."""

    def __init__(
        self,
        workspace: Workspace,
        campaign: Campaign,
        panel: Panel,
        generator: Generator,
        strategy: Strategy,
        limits: Limits,
        watcher: Watcher,
    ) -> None:
        self._workspace = workspace
        self._campaign = campaign
        self._panel = panel
        self._generator = generator
        self._strategy = strategy
        self._limits = limits
        self._watcher = watcher
        self._open: dict[int, _Work] = {}
        self._begun: dict[int, int] = {}
        """The last attempt begun of each task."""
        self._champions: dict[int, float] = {}
        self._under_way: list[_UnderWay] = []
        """In the order in which they were begun."""
        self._totals = workspace.totals(campaign)
        lookahead = LOOKAHEAD_APART if panel.is_apart else LOOKAHEAD
        self._ahead = max(lookahead, generator.at_once)
        self._writers = ThreadPoolExecutor(self._ahead, "kernelmill-ahead")
        self._judges = ThreadPoolExecutor(len(panel), "kernelmill-judge")
        self._auditor = generator.auditor
        self._out_of_money = False

    def run(self) -> Ending:
        """Raises GeneratorUnavailable, BackendUnavailable or IsolationError; `resume` goes on."""
        self._read_tasks()
        try:
            ending = self._run()
            if self._under_way:
                self._watcher.stopping(len(self._under_way))
            while self._under_way:
                self._finish_one()
            if self._out_of_money and ending is Ending.COMPLETE:
                ending = Ending.OUT_OF_MONEY
        except Exception:
            # Whoever called closes the judges: nobody may be at work on them then.
            self._judges.shutdown(wait=False, cancel_futures=True)
            self._panel.retire()
            raise
        finally:
            for one in self._under_way:
                self._workspace.release(one.claim)
            for pool in (self._writers, self._judges):
                pool.shutdown(wait=False, cancel_futures=True)
        return ending

    def _read_tasks(self) -> None:
        for entry in self._workspace.tasks(self._campaign):
            if entry.task is None or entry.described is None or entry.set_aside is not None:
                continue
            self._open[entry.task] = _Work(entry.task, entry.described)
            if entry.champion is not None:
                ratio = self._workspace.attempt(entry.champion).ratio
                self._champions[entry.task] = ratio or 0.0

    def _run(self) -> Ending:
        for work in self._turns():
            if self._out_of_money:
                return Ending.OUT_OF_MONEY
            ending = self._limits.reached(self._totals, len(self._under_way))
            if ending is not None:
                return ending
            self._begin(work)
        return Ending.COMPLETE

    def _turns(self) -> Iterator[_Work]:
        while self._open:
            work = min(self._open.values(), key=lambda work: self._progress(work).turn)
            if self._is_under_way(work) or self._is_full():
                self._finish_one()  # and look again: whoever is done may go on
            else:
                yield work

    def _progress(self, work: _Work) -> Progress:
        ready = self._panel.is_ready_for(work.task)
        return Progress(self._begun.get(work.id, 0), self._is_under_way(work), ready)

    def _is_under_way(self, work: _Work) -> bool:
        return any(one.work.id == work.id for one in self._under_way)

    def _is_full(self) -> bool:
        """Whether nothing may begin before something is done."""
        count = len(self._under_way)
        dear = self._limits.must_learn_the_price(self._totals, count)
        return count > 0 and (dear or count >= self._most_at_once())

    def _most_at_once(self) -> int:
        wanted = self._ahead + len(self._panel)
        if self._generator.at_once > 1:
            return wanted  # its answers take longer than a judge takes to get ready
        return most_at_once(wanted, self._panel.room)

    def _begin(self, work: _Work) -> None:
        claim = self._workspace.claim(self._campaign, work.id)
        if claim is None:
            del self._open[work.id]
            return
        self._begun[work.id] = claim.number
        seed = attempt_seed(self._campaign, work.task.id, claim.number)
        history = StoredHistory(self._workspace, self._campaign, work.id, seed)
        proposal = msgspec.structs.replace(
            self._strategy.propose(work.task, history),
            number=claim.number,
            standings=self._standings(),
        )
        answer = None if self._generator.draws else _known_decline(history, proposal)
        if answer is not None:
            self._give_up(work, claim, f"declined: {answer}")
            return
        self._watcher.working(work.task.id, "writing")
        prepared = self._writers.submit(self._prepare, proposal)
        done = self._judges.submit(self._judge_next, work, prepared)
        self._under_way.append(_UnderWay(work, claim, proposal, done))

    def _standings(self) -> tuple[Standing, ...]:
        return self._workspace.standings(self._campaign) if self._generator.draws else ()

    def _prepare(self, proposal: Proposal) -> _Prepared:
        """Runs in another thread, ahead of the judges."""
        begun = time.perf_counter()
        try:
            with quiet.writing() if self._generator.computes else nullcontext():
                begun = time.perf_counter()
                draft = self._generator.write(proposal)
                generating = time.perf_counter() - begun
            with quiet.building():
                begun = time.perf_counter()
                builds = self._panel.build_ahead(proposal.task, draft.candidate)
                building = time.perf_counter() - begun
            audit = self._audited(proposal, draft) if builds else Audit("")
        except Declined as declined:
            seconds = time.perf_counter() - begun
            broke = isinstance(declined, Unaffordable)
            return _Prepared(None, str(declined), declined.calls, broke, generate_seconds=seconds)
        draft = msgspec.structs.replace(draft, calls=draft.calls + audit.calls)
        return _Prepared(
            draft,
            objection=audit.objection,
            generate_seconds=generating,
            build_seconds=building,
        )

    def _audited(self, proposal: Proposal, draft: Draft) -> Audit:
        if self._auditor is None:
            return Audit("")
        try:
            return self._auditor.audit(proposal, draft.candidate)
        except Unaffordable as error:
            raise Unaffordable(
                f"nobody can audit it: {error}", draft.calls + error.calls
            ) from error

    def _judge_next(self, work: _Work, prepared: Future[_Prepared]) -> _Done:
        """Runs in the thread of a judge."""
        begun = time.perf_counter()
        ready = prepared.result()
        waited = time.perf_counter() - begun
        if ready.draft is None:
            return _Done(ready, None, waited)
        with self._panel.lease(work.task) as judge:
            return _Done(ready, self._judged(judge, work, ready.draft, ready.objection), waited)

    def _finish_one(self) -> None:
        """Store the first attempt that is judged; of several, the one that was begun first."""
        wait([one.done for one in self._under_way], return_when=FIRST_COMPLETED)
        one = next(one for one in self._under_way if one.done.done())
        try:
            prepared, judged, waited = one.done.result()
        except TaskError as error:
            self._under_way.remove(one)
            self._give_up(one.work, one.claim, str(error))
            return
        self._under_way.remove(one)
        self._out_of_money |= prepared.unaffordable
        if prepared.unaffordable:
            self._workspace.note(self._campaign, NO_MONEY, prepared.declined)
        if prepared.unaffordable and not prepared.in_vain:
            self._workspace.release(one.claim)
            return
        self._store(one, prepared, judged, waited)

    def _judged(self, judge: Judge, work: _Work, draft: Draft, objection: str) -> _Judged:
        """The verdict; a second one, from a process of its own, where it beats an incumbent and
        time is measured."""
        begun = time.perf_counter()
        self._watcher.working(work.task.id, "judging")
        candidate = draft.candidate
        verdict = judge.verify(work.task, candidate, brief=True, objection=objection)
        confirming = None
        champion = self._beats(work.id, verdict, 1 + MARGIN)
        if champion and work.id in self._champions and not judge.backend.exact:
            self._watcher.working(work.task.id, "confirming")
            confirming = judge.verify(work.task, candidate, brief=True)
            champion = self._beats(work.id, confirming, 1.0)
        return _Judged(verdict, confirming, champion, time.perf_counter() - begun)

    def _beats(self, task: int, verdict: Verdict, margin: float) -> bool:
        if not verdict.passed or verdict.latency is None:
            return False
        return verdict.latency.over_eager.ratio > margin * self._champions.get(task, 0.0)

    def _store(
        self, one: _UnderWay, prepared: _Prepared, judged: _Judged | None, waited: float
    ) -> None:
        seconds = Seconds(
            prepared.generate_seconds,
            prepared.build_seconds,
            waited,
            judged.seconds if judged is not None else 0.0,
        )
        result = Result(
            one.proposal,
            seconds,
            prepared.draft,
            judged.verdict if judged is not None else None,
            judged.confirming if judged is not None else None,
            judged is not None and judged.champion,
            prepared.declined,
            prepared.in_vain,
        )
        attempt = self._workspace.complete(one.claim, result, self._strategy.observe)
        if result.champion:
            self._champions[one.work.id] = attempt.ratio or 0.0
        self._totals = self._workspace.totals(self._campaign)
        self._watcher.finished(attempt, result.champion, self._totals)

    def _give_up(self, work: _Work, claim: Claim, reason: str) -> None:
        self._workspace.release(claim)
        self._workspace.set_aside(self._campaign, work.id, reason)
        self._open.pop(work.id, None)
        self._watcher.set_aside(work.task.id, reason)


def _known_decline(history: History, proposal: Proposal) -> str | None:
    """The last answer, where it was a decline and this would ask the very same again."""
    last = history.attempts[-1] if history.attempts else None
    if last is None or last.state != State.DECLINED:
        return None
    parent = None if proposal.parent is None else proposal.parent.attempt
    asked = (proposal.stage, parent, proposal.context, proposal.instruction)
    same = asked == (last.stage, last.parent, last.context, last.instruction)
    return last.reason if same else None
