"""The campaign loop: propose, write, build, judge, store, learn, for all tasks in turn.

Each judge (one, or one per device) has a thread. Other threads write and build ahead of the judges,
at most LOOKAHEAD attempts or as many as the generator answers at once; `measurement_lock` keeps
them from disturbing timed runs. The calling thread proposes and stores. A task has one attempt
under way at a time, so a proposal sees every earlier verdict of its own task; of other tasks it may
miss the attempts under way.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import msgspec

from kernelmill.campaign.components import Components
from kernelmill.campaign.history import StoredHistory
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.campaign.judging import Judged, judge_candidate
from kernelmill.campaign.limits import Ending, RunLimits
from kernelmill.campaign.pausing import Pause
from kernelmill.campaign.preparation import Preparation, Prepared
from kernelmill.campaign.schedule import TaskProgress, most_at_once
from kernelmill.campaign.watcher import Watcher
from kernelmill.generators.summarising import Summariser
from kernelmill.memory import Memory
from kernelmill.records.attempt import Claim, Observation, Result, Seconds, State
from kernelmill.records.campaign import Campaign, EventKind
from kernelmill.records.errors import GeneratorUnavailable, TaskError
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Proposal, Summary
from kernelmill.records.task import Task
from kernelmill.strategies import History
from kernelmill.workspace import Transaction, Workspace

LOOKAHEAD = 2
LOOKAHEAD_SEPARATE = max(4, (os.cpu_count() or 1) // 2)
"""Where timing happens on a separate device, so that compilers need not wait for it."""
_PAUSE_STEP = 0.2
"""Seconds between two looks at Ctrl-C and the limits during a pause."""


class _Work(NamedTuple):
    """A task that may still get attempts."""

    id: int
    task: Task


class _Done(NamedTuple):
    prepared: Prepared
    judged: Judged | None
    waited: float
    """Seconds that a judge's thread waited for the draft."""
    summary: Summary = Summary()


class _UnderWay(NamedTuple):
    work: _Work
    claim: Claim
    proposal: Proposal
    done: Future[_Done]


class CampaignLoop:
    """The attempts of one run, until the budget is spent or a limit is reached."""

    def __init__(
        self,
        workspace: Workspace,
        campaign: Campaign,
        components: Components,
        pool: JudgePool,
        limits: RunLimits,
        watcher: Watcher,
    ) -> None:
        self._workspace = workspace
        self._campaign = campaign
        self._pool = pool
        self._generator = components.generator
        self._strategy = components.strategy
        self._summariser = components.summariser
        self._preparation = Preparation(components.generator, components.auditor, pool)
        self._limits = limits
        self._watcher = watcher
        self._open: dict[int, _Work] = {}
        self._begun: dict[int, int] = {}
        """The number of the last attempt begun, by task."""
        self._checked: set[int] = set()
        """Tasks that a judge was made ready for in this run."""
        self._champions: dict[int, float] = {}
        """The champion's ratio, by task."""
        self._under_way: list[_UnderWay] = []
        """Attempts under way, in the order in which they were begun."""
        self._totals = workspace.totals(campaign)
        lookahead = LOOKAHEAD_SEPARATE if pool.is_separate else LOOKAHEAD
        self._ahead = max(lookahead, self._generator.at_once)
        self._writers = ThreadPoolExecutor(self._ahead, "kernelmill-ahead")
        self._judges = ThreadPoolExecutor(len(pool), "kernelmill-judge")
        self._readiness = ThreadPoolExecutor(len(pool), "kernelmill-ready")
        # One thread for every attempt that may be under way: each waits for its verdict.
        self._summaries = ThreadPoolExecutor(self._ahead + len(pool), "kernelmill-summary")
        self._stop: Ending | None = None
        """Why no further attempt begins, apart from the limits."""
        self._pause = Pause(limits.pauses)
        self._in_vain: defaultdict[int, tuple[ModelCall, ...]] = defaultdict(tuple)
        """Model calls of attempts that are proposed again, by task; the next one counts them."""

    def run(self) -> Ending:
        """Raises BackendUnavailable or IsolationError; the campaign can be resumed after both."""
        self._read_tasks()
        try:
            ending = self._run()
            if self._under_way:
                self._watcher.stopping(len(self._under_way))
            while self._under_way:
                self._finish_one()
            if ending is Ending.COMPLETE:
                ending = self._stop or ending
        except Exception:
            # The caller closes the judges; no thread may be using one by then.
            self._judges.shutdown(wait=False, cancel_futures=True)
            self._pool.retire()
            raise
        finally:
            for one in self._under_way:
                self._workspace.release(one.claim)
            for pool in (self._readiness, self._writers, self._judges, self._summaries):
                pool.shutdown(wait=False, cancel_futures=True)
        return ending

    def _read_tasks(self) -> None:
        for entry in self._workspace.tasks(self._campaign):
            if entry.task is None or entry.described is None or entry.set_aside is not None:
                continue
            self._open[entry.task] = _Work(entry.task, entry.described)
            first = self._workspace.first_verdict(self._campaign.settings.backend, entry.task)
            if first is not None:
                self._pool.restore(entry.described, first)
            speed = self._workspace.champion_speed(self._campaign, entry.task)
            if speed is not None:
                self._champions[entry.task] = speed

    def _run(self) -> Ending:
        for work in self._turns():
            self._wait_out_pause()
            if (ending := self._ending()) is not None:
                return ending
            self._begin(work)
        return Ending.COMPLETE

    def _ending(self) -> Ending | None:
        """Why no further attempt may begin; None where one may."""
        return self._stop or self._limits.reached(self._totals, len(self._under_way))

    def _wait_out_pause(self) -> None:
        """Wait until the generator may be asked again, and finish attempts meanwhile."""
        while (seconds := self._pause.seconds_left) > 0 and self._ending() is None:
            seconds = min(seconds, _PAUSE_STEP)
            if not self._under_way:
                time.sleep(seconds)
            elif wait([one.done for one in self._under_way], seconds, FIRST_COMPLETED).done:
                self._finish_one()

    def _turns(self) -> Iterator[_Work]:
        while self._open:
            work = min(self._open.values(), key=lambda work: self._progress(work).turn)
            if self._is_under_way(work) or self._is_full(work):
                self._finish_one()  # then choose again: a finished task may be next
            else:
                yield work

    def _progress(self, work: _Work) -> TaskProgress:
        ready = self._pool.is_ready_for(work.task)
        return TaskProgress(self._begun.get(work.id, 0), self._is_under_way(work), ready)

    def _is_under_way(self, work: _Work) -> bool:
        return any(one.work.id == work.id for one in self._under_way)

    def _is_full(self, work: _Work) -> bool:
        """Whether an attempt must finish before one of this task may begin."""
        count = len(self._under_way)
        price_unknown = self._limits.must_learn_the_price(self._totals, count)
        return count > 0 and (price_unknown or count >= self._most_at_once(work))

    def _most_at_once(self, work: _Work) -> int:
        wanted = self._ahead + len(self._pool)
        if self._generator.at_once > 1:
            return wanted  # an answer takes longer than a judge takes to get ready
        if work.id not in self._begun:
            return wanted  # a judge has to get ready for it in any case
        return most_at_once(wanted, self._pool.ready_task_limit)

    def _begin(self, work: _Work) -> None:
        claim = self._workspace.claim(self._campaign, work.id)
        if claim is None:
            del self._open[work.id]
            return
        self._begun[work.id] = claim.number
        history = StoredHistory(
            self._workspace, self._campaign, work.id, work.task.id, claim.number
        )
        proposal = self._strategy.propose(work.task, history)
        final = self._generator.declines_for_good
        decline = _known_decline(history, proposal) if final else None
        if decline is not None:
            self._give_up(work, claim, f"declined: {decline}")
            return
        self._watcher.working(work.task.id, "writing")
        prepared = self._writers.submit(self._prepare, self._get_ready(work), proposal)
        done = self._judges.submit(self._judge_prepared, work, proposal, prepared)
        if self._summariser is not None:
            done = self._summaries.submit(self._summarised, self._summariser, proposal, done)
        self._under_way.append(_UnderWay(work, claim, proposal, done))

    def _get_ready(self, work: _Work) -> Future[None] | None:
        """Get a judge ready for a task that it may not be able to judge, once per run."""
        if work.id in self._checked or not self._pool.is_checked_ahead:
            return None
        self._checked.add(work.id)
        return self._readiness.submit(self._pool.get_ready, work.task)

    def _prepare(self, ready: Future[None] | None, proposal: Proposal) -> Prepared:
        """Ask the generator, once it is known that the task can be judged. Raises TaskError."""
        if ready is not None:
            ready.result()
        return self._preparation.prepare(proposal)

    def _judge_prepared(self, work: _Work, proposal: Proposal, prepared: Future[Prepared]) -> _Done:
        """Judge a draft when it is prepared, in the thread of a judge."""
        begun = time.perf_counter()
        ready = prepared.result()
        waited = time.perf_counter() - begun
        if ready.draft is None:
            return _Done(ready, None, waited)
        with self._pool.lease(work.task) as judge:
            incumbent = self._champions.get(work.id)
            candidate, objection = ready.draft.candidate, ready.objection
            judged = judge_candidate(
                judge,
                work.task,
                candidate,
                incumbent,
                self._watcher,
                objection,
                proposal.confirm_above,
                proposal.remeasure,
            )
        return _Done(ready, judged, waited)

    def _summarised(
        self, summariser: Summariser, proposal: Proposal, judging: Future[_Done]
    ) -> _Done:
        """With what the verdict teaches, beside the judge's thread."""
        done = judging.result()
        draft, verdict = done.prepared.draft, done.judged and done.judged.deciding
        if draft is None or verdict is None or verdict.is_lost:
            return done
        return done._replace(summary=summariser.summarise(proposal, draft, verdict))

    def _finish_one(self) -> None:
        """Wait for an attempt to be judged, and store it; of several, the one begun first."""
        wait([one.done for one in self._under_way], return_when=FIRST_COMPLETED)
        one = next(one for one in self._under_way if one.done.done())
        try:
            done = one.done.result()
        except TaskError as error:
            self._under_way.remove(one)
            self._give_up(one.work, one.claim, str(error))
            return
        except GeneratorUnavailable as error:
            self._under_way.remove(one)
            self._release_and_stop(one, Ending.NO_GENERATOR, EventKind.NO_GENERATOR, str(error))
            return
        self._under_way.remove(one)
        prepared = done.prepared
        if prepared.unanswered:
            self._propose_again(one, prepared)
            return
        self._pause.end()
        if prepared.hopeless:
            self._give_up(one.work, one.claim, f"declined: {prepared.declined}")
            return
        if prepared.unaffordable and not prepared.in_vain:
            no_money = Ending.OUT_OF_MONEY, EventKind.NO_MONEY
            self._release_and_stop(one, *no_money, prepared.declined)
            return
        if prepared.unaffordable:
            self._stop = Ending.OUT_OF_MONEY
            self._workspace.note(self._campaign, EventKind.NO_MONEY, prepared.declined)
        self._store(one, done)

    def _release_and_stop(
        self, one: _UnderWay, ending: Ending, kind: EventKind, reason: str
    ) -> None:
        self._workspace.release(one.claim)
        if self._stop is None:
            self._stop = ending
            self._workspace.note(self._campaign, kind, reason)

    def _propose_again(self, one: _UnderWay, prepared: Prepared) -> None:
        """After a pause; the attempt is not used up."""
        self._workspace.release(one.claim)
        self._in_vain[one.work.id] += prepared.in_vain
        if self._pause.seconds_left <= 0:
            seconds = self._pause.begin()
            self._workspace.note(self._campaign, EventKind.PAUSED, prepared.declined)
            self._watcher.paused(prepared.declined, seconds)

    def _store(self, one: _UnderWay, done: _Done) -> None:
        prepared, judged, waited, summary = done
        seconds = Seconds(
            prepared.generate_seconds,
            prepared.build_seconds,
            waited,
            judged.seconds if judged is not None else 0.0,
        )
        draft, earlier = prepared.draft, self._in_vain.pop(one.work.id, ())
        if draft is not None:
            draft = msgspec.structs.replace(draft, calls=earlier + draft.calls + summary.calls)
        result = Result(
            one.proposal,
            seconds,
            draft,
            judged.verdict if judged is not None else None,
            judged.confirming if judged is not None else None,
            judged is not None and judged.champion,
            prepared.declined,
            earlier + prepared.in_vain,
            judged.remeasured if judged is not None else (),
            summary.lesson,
        )
        attempt = self._workspace.complete(one.claim, result, self._observe)
        if result.champion or result.remeasured:
            speed = self._workspace.champion_speed(self._campaign, one.work.id)
            self._champions[one.work.id] = speed or 0.0
        self._totals = self._workspace.totals(self._campaign)
        self._watcher.finished(attempt, result.champion, self._totals)

    def _observe(self, observation: Observation, transaction: Transaction) -> None:
        self._strategy.observe(observation, Memory(transaction))

    def _give_up(self, work: _Work, claim: Claim, reason: str) -> None:
        self._workspace.release(claim)
        self._workspace.set_aside(self._campaign, work.id, reason)
        self._open.pop(work.id, None)
        self._watcher.set_aside(work.task.id, reason)


def _known_decline(history: History, proposal: Proposal) -> str | None:
    """The reason of the last attempt's decline, where this proposal is identical to that one."""
    last = next(iter(history.recent(1)), None)
    if last is None or last.state != State.DECLINED:
        return None
    parent = None if proposal.parent is None else proposal.parent.attempt
    context = tuple(hint.without_code() for hint in proposal.context)
    asked = (proposal.stage, parent, context, proposal.instruction)
    same = asked == (last.stage, last.parent, last.context, last.instruction)
    return last.reason if same else None
