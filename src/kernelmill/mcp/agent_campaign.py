"""A campaign whose candidates an agent writes: proposals go out, submissions come in.

One thread owns the judge and writes to the workspace: submissions are judged in order. Everything
else only reads, with connections of its own, and may be called from any thread.
"""

import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.campaign.components import open_judges
from kernelmill.campaign.finals import write_best
from kernelmill.campaign.history import StoredHistory
from kernelmill.campaign.judging import judge_candidate
from kernelmill.campaign.preflight import demand_some, describe_tasks, find_tasks
from kernelmill.campaign.watcher import Watcher
from kernelmill.generators.agent import AgentGenerator
from kernelmill.judge import Judge
from kernelmill.memory import Memory
from kernelmill.memory.guide import seed_guide
from kernelmill.records.attempt import Attempt, Claim, Observation, Result, Seconds
from kernelmill.records.campaign import Campaign, CampaignSettings, CampaignTask, EventKind
from kernelmill.records.candidate import Candidate
from kernelmill.records.decisions import APPROACH, Decisions
from kernelmill.records.errors import KernelmillError, UsageError
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.task import Task
from kernelmill.report import summarise_campaign, write_page
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Transaction, Workspace

GENERATOR = AgentGenerator.name
_REPORT = "report.html"


class AgentCampaignSettings(NamedTuple):
    campaign: CampaignSettings
    workspace: Path
    max_minutes: float | None = None
    """No submission is accepted after this time; None: no limit."""


class Recalled(NamedTuple):
    """What was shown to an agent for its next attempt."""

    proposal: Proposal
    at: float


class Submission(NamedTuple):
    """A candidate that an agent handed in."""

    id: str
    entry: CampaignTask
    candidate: Candidate
    approach: str
    agent: str
    cost_usd: float | None
    recalled: Recalled | None
    judged: "Future[int]"
    """The id of its attempt."""


class AgentCampaign:
    """Opened at once; what takes long happens in its thread, and callers wait for it."""

    def __init__(self, settings: AgentCampaignSettings) -> None:
        self._settings = settings
        self.backend: Backend = get_backend(settings.campaign.backend)
        self._strategy = get_strategy(settings.campaign.strategy)
        self._deadline = None
        if settings.max_minutes is not None:
            self._deadline = time.monotonic() + 60 * settings.max_minutes
        self._opened: Future[Campaign] = Future()
        self._queue: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._recalled: dict[str, Recalled] = {}
        self._submissions: dict[str, Submission] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="kernelmill-agent", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish the submission under way, write the report, and end."""
        self._queue.put(None)
        self._thread.join()

    def __enter__(self) -> "AgentCampaign":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    @property
    def is_open(self) -> bool:
        return self._opened.done()

    @contextmanager
    def reading(self) -> Iterator[tuple[Workspace, Campaign]]:
        """The workspace and the campaign; waits until the tasks are loaded."""
        campaign = self._opened.result()
        with Workspace(self._settings.workspace) as workspace:
            yield workspace, workspace.campaign(campaign.id)

    def entry(self, workspace: Workspace, campaign: Campaign, task: str) -> CampaignTask:
        """A task that can be worked on. Raises UsageError."""
        for entry in workspace.tasks(campaign):
            if entry.name == task:
                if entry.task is None or entry.described is None:
                    raise UsageError(f"{task} cannot be worked on: {entry.set_aside}")
                return entry
        names = ", ".join(entry.name for entry in workspace.tasks(campaign)[:20])
        raise UsageError(f"there is no task {task!r}; there are {names}")

    def left(self, workspace: Workspace, campaign: Campaign, entry: CampaignTask) -> int:
        """Attempts that may still be made on a task."""
        done = len(workspace.attempts(campaign, entry.task or 0))
        with self._lock:
            waiting = sum(
                one.entry.name == entry.name and not one.judged.done()
                for one in self._submissions.values()
            )
        return max(0, campaign.settings.budget - done - waiting)

    # Proposals

    def recall(self, task: str) -> Proposal:
        """What the strategy would show for the next attempt; the attempt is credited to it."""
        with self.reading() as (workspace, campaign):
            entry = self.entry(workspace, campaign, task)
            assert entry.task is not None and entry.described is not None
            number = len(workspace.attempts(campaign, entry.task)) + 1
            history = StoredHistory(workspace, campaign, entry.task, entry.name, number)
            proposal = self._strategy.propose(entry.described, history)
        with self._lock:
            self._recalled[entry.name] = Recalled(proposal, time.monotonic())
        return proposal

    # Submissions

    def submit(
        self, task: str, candidate: Candidate, approach: str, agent: str, cost_usd: float | None
    ) -> Submission:
        """Hand in a candidate to be judged; the same one again is the same submission.

        Raises UsageError where the budget or the time is spent.
        """
        with self.reading() as (workspace, campaign):
            entry = self.entry(workspace, campaign, task)
            identity = f"{entry.name}:{candidate.digest}"
            known = self.find(identity)
            if known is not None:
                return known
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise UsageError("the time of this campaign is over: submit nothing more")
            if self.left(workspace, campaign, entry) == 0:
                raise UsageError(
                    f"the budget of {entry.name} is spent ({campaign.settings.budget} attempts): "
                    "work on another task"
                )
        with self._lock:
            recalled = self._recalled.pop(entry.name, None)
            submission = Submission(
                identity, entry, candidate, approach, agent, cost_usd, recalled, Future()
            )
            self._submissions[identity] = submission
        self._queue.put(submission)
        return submission

    def find(self, identity: str) -> Submission | None:
        """A submission of this server, or a finished one of an earlier server."""
        with self._lock:
            if identity in self._submissions:
                return self._submissions[identity]
        task, _, digest = identity.rpartition(":")
        with self.reading() as (workspace, campaign):
            entry = next((one for one in workspace.tasks(campaign) if one.name == task), None)
            if entry is None or entry.task is None:
                return None
            for attempt in workspace.attempts_with_source(campaign, entry.task, digest):
                candidate = workspace.candidate(attempt)
                if candidate is None:
                    continue
                judged: Future[int] = Future()
                judged.set_result(attempt.id)
                return Submission(identity, entry, candidate, "", "", None, None, judged)
        return None

    # The thread that judges and writes

    def _work(self) -> None:
        settings, folder, _ = self._settings
        try:
            self.backend.demand_requirements()
            settings = msgspec.structs.replace(settings, backend=self.backend.target)
            with (
                open_judges(settings, self.backend) as judges,
                Workspace(folder, create=True) as workspace,
            ):
                campaign = self._open(workspace, settings, judges[0])
                self._opened.set_result(campaign)
                while (submission := self._queue.get()) is not None:
                    self._judge(workspace, campaign, judges[0], submission)
                workspace.note(campaign, EventKind.ENDED, "the agent left")
                write_page(summarise_campaign(workspace, campaign), folder / _REPORT)
        except Exception as error:  # callers get it, whatever it is
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
        with self._lock:
            for submission in self._submissions.values():
                if not submission.judged.done():
                    submission.judged.set_exception(error)

    def _open(self, workspace: Workspace, settings: CampaignSettings, judge: Judge) -> Campaign:
        """The campaign with these settings, to be continued; else a new one."""
        with workspace.writing() as transaction:
            seed_guide(Memory(transaction), settings.backend, self.backend.guide())
        for campaign in reversed(workspace.campaigns()):
            same = msgspec.structs.replace(
                campaign.settings, budget=settings.budget, threads=settings.threads
            )
            if same == settings:
                campaign = workspace.change_settings(campaign, settings)
                break
        else:
            entries = find_tasks(settings.suites)
            tasks = list(describe_tasks(judge, entries, settings.scale, settings.numerics))
            demand_some(tasks)
            campaign = workspace.create_campaign(settings, tasks)
        workspace.note(campaign, EventKind.BEGUN, "")
        return campaign

    def _judge(
        self, workspace: Workspace, campaign: Campaign, judge: Judge, submission: Submission
    ) -> None:
        assert submission.entry.task is not None
        claim = workspace.claim(campaign, submission.entry.task)
        if claim is None:
            submission.judged.set_exception(UsageError("the budget of this task is spent"))
            return
        try:
            attempt = self._judged_attempt(workspace, campaign, judge, submission, claim)
        except KernelmillError as error:
            workspace.release(claim)
            submission.judged.set_exception(error)
        else:
            submission.judged.set_result(attempt.id)

    def _judged_attempt(
        self,
        workspace: Workspace,
        campaign: Campaign,
        judge: Judge,
        submission: Submission,
        claim: Claim,
    ) -> Attempt:
        entry = next(e for e in workspace.tasks(campaign) if e.task == submission.entry.task)
        task = submission.entry.described
        assert entry.task is not None and task is not None
        incumbent = workspace.champion_speed(campaign, entry.task)
        history = StoredHistory(workspace, campaign, entry.task, entry.name, claim.number)
        recalled = submission.recalled
        proposal = _proposal(task, history, recalled)
        judged = judge_candidate(
            judge,
            task,
            submission.candidate,
            incumbent,
            Watcher(),
            confirm_above=proposal.confirm_above,
            remeasure=proposal.remeasure,
        )
        call = ModelCall("generator", submission.agent, cost_usd=submission.cost_usd)
        decisions: Decisions = {APPROACH: submission.approach} if submission.approach else {}
        result = Result(
            proposal,
            Seconds(
                generate=0.0 if recalled is None else time.monotonic() - recalled.at,
                measure=judged.seconds,
            ),
            Draft(submission.candidate, decisions, calls=(call,)),
            judged.verdict,
            judged.confirming,
            judged.champion,
            remeasured=judged.remeasured,
        )
        attempt = workspace.complete(claim, result, self._observe)
        if judged.champion:
            write_best(workspace, campaign.settings.backend)
        return attempt

    def _observe(self, observation: Observation, transaction: Transaction) -> None:
        self._strategy.observe(observation, Memory(transaction))


def _proposal(task: Task, history: StoredHistory, recalled: Recalled | None) -> Proposal:
    """What the agent was shown; nothing where it did not ask."""
    if recalled is None:
        return history.proposal(task)
    return msgspec.structs.replace(recalled.proposal, number=history.number)
