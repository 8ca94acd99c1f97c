"""Typed access to the database of a workspace."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.records.attempt import (
    Attempt,
    AttemptOutcome,
    AttemptPlan,
    AttemptResources,
    Claim,
    Observation,
    Result,
    VerdictKind,
    WrittenByModel,
)
from kernelmill.records.calibration import Prediction
from kernelmill.records.campaign import (
    Best,
    Campaign,
    CampaignSettings,
    CampaignTask,
    Effort,
    Event,
    EventKind,
    Failure,
    NewTask,
    Spending,
    TaskProgressSummary,
    Totals,
)
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import UsageError, WorkspaceError
from kernelmill.records.model_calls import ModelCall, SaidText
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.storage.packing import converted, decoded, packed, unpacked
from kernelmill.workspace.conversations import (
    ConversationsSize,
    read_conversation,
    store_conversation,
)
from kernelmill.workspace.database import (
    Transaction,
    clear_errors,
    damaged,
    find_damage,
    open_database,
    transaction,
)
from kernelmill.workspace.expenses import Expenses
from kernelmill.workspace.owners import Owner, is_alive, remove_dead_owners
from kernelmill.workspace.rows import attempt_from, now, result_columns
from kernelmill.workspace.sql import query

_OWNERS = "owners"
_SIGNS_OF_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, sqlite3.DatabaseError)
Observer = Callable[[Observation, Transaction], None]


class Workspace:
    """A folder with one database. Several processes may open it; each object belongs to the thread
    that made it."""

    def __init__(self, folder: str | Path, create: bool = False) -> None:
        """Open the workspace in a folder; `create` makes a new one. Raises WorkspaceError."""
        self.folder = Path(folder)
        self._connection = open_database(self.folder, create)
        self._owner: Owner | None = None

    def close(self) -> None:
        self._connection.close()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raises WorkspaceError in place of an error that a damaged file explains."""
        try:
            if isinstance(error, _SIGNS_OF_DAMAGE) and (found := find_damage(self._connection)):
                raise damaged(found) from error
        finally:
            self.close()

    @property
    def database(self) -> Transaction:
        """The database, to read from; `writing` is for changes."""
        return self._connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """One transaction."""
        with transaction(self._connection) as opened:
            yield opened

    # Campaigns

    def create_campaign(self, settings: CampaignSettings, tasks: Sequence[NewTask]) -> Campaign:
        with transaction(self._connection):
            made_at = now()
            row = self._one("insert_campaign", made_at=made_at, settings=_json(settings))
            campaign = Campaign(row["id"], made_at, settings)
            for position, new in enumerate(tasks):
                digest = new.task.digest if new.task is not None else ""
                if new.task is not None:
                    self._run("insert_task", name=new.name, digest=digest, body=packed(new.task))
                self._run(
                    "insert_campaign_task",
                    campaign=campaign.id,
                    position=position,
                    name=new.name,
                    digest=digest,
                    set_aside=new.set_aside,
                )
        return campaign

    def campaigns(self) -> list[Campaign]:
        return [
            Campaign(
                row["id"],
                row["made_at"],
                decoded(row["settings"], CampaignSettings),
            )
            for row in self._all("campaigns")
        ]

    def campaign(self, number: int | None = None) -> Campaign:
        """The campaign with this number, by default the latest. Raises UsageError."""
        campaigns = self.campaigns()
        if not campaigns:
            raise UsageError(f"{self.folder} holds no campaign yet")
        if number is None:
            return campaigns[-1]
        for campaign in campaigns:
            if campaign.id == number:
                return campaign
        raise UsageError(f"{self.folder} has no campaign {number}; the last is {campaigns[-1].id}")

    def latest_campaign(self, task: str) -> Campaign:
        """The latest campaign with a task of this name. Raises UsageError."""
        for campaign in reversed(self.campaigns()):
            if any(one.name == task for one in self.tasks(campaign)):
                return campaign
        raise UsageError(
            f"no campaign of {self.folder} has a task {task!r}: `kernelmill status` lists them"
        )

    def change_settings(self, campaign: Campaign, settings: CampaignSettings) -> Campaign:
        self._run("update_settings", campaign=campaign.id, settings=_json(settings))
        return msgspec.structs.replace(campaign, settings=settings)

    def tasks(self, campaign: Campaign) -> list[CampaignTask]:
        return [
            CampaignTask(
                row["position"],
                row["name"],
                row["task"],
                row["set_aside"],
                row["champion"],
                None if row["body"] is None else unpacked(row["body"], Task),
            )
            for row in self._all("campaign_tasks", campaign=campaign.id)
        ]

    def set_aside(self, campaign: Campaign, task: int, reason: str) -> None:
        self._run("set_aside", campaign=campaign.id, task=task, reason=reason)

    def note(self, campaign: Campaign, kind: EventKind, text: str) -> None:
        self._run("insert_event", campaign=campaign.id, at=now(), kind=kind, text=text)

    def events(self, campaign: Campaign) -> list[Event]:
        rows = self._all("events", campaign=campaign.id)
        return [converted(dict(row), Event) for row in rows]

    # Attempts

    def claim(self, campaign: Campaign, task: int) -> Claim | None:
        """Claim the next attempt of a task, or one whose process died; None where the budget is
        spent."""
        if self._owner is None:
            self._owner = self._register()
        owner, key = self._owner.name, {"campaign": campaign.id, "task": task}
        with transaction(self._connection):
            for row in self._all("claimed_attempts", **key):
                if not is_alive(self.folder / _OWNERS, row["owner"]):
                    self._run("take_over", attempt=row["id"], owner=owner, at=now())
                    return Claim(row["id"], row["number"])
            budget = campaign.settings.budget
            rows = self._all("claim_next", **key, owner=owner, at=now(), budget=budget)
            return Claim(rows[0]["id"], rows[0]["number"]) if rows else None

    def release(self, claim: Claim) -> None:
        """Return a claimed attempt to the budget."""
        self._run("release", attempt=claim.attempt, owner=self._owner_name())

    def complete(self, claim: Claim, result: Result, observe: Observer) -> Attempt:
        """Store an attempt and what `observe` learns from it, in one transaction."""
        with transaction(self._connection):
            draft = result.draft
            if draft is not None:
                files = packed(draft.candidate.files)
                self._run("insert_source", digest=draft.candidate.digest, files=files)
            values = result_columns(result)
            changed = self._run(
                "complete", attempt=claim.attempt, owner=self._owner_name(), **values
            )
            if changed != 1:
                raise WorkspaceError(f"attempt {claim.attempt} belongs to another process now")
            for kind, verdict in (
                (VerdictKind.FIRST, result.verdict),
                (VerdictKind.CONFIRMING, result.confirming),
            ):
                if verdict is not None:
                    self._store_verdict(claim.attempt, kind, verdict)
                    self._store_measurement(claim.attempt, verdict)
            for again in result.remeasured:
                self._store_measurement(again.attempt, again.verdict)
            self._store_calls_and_plan(claim.attempt, result)
            for hint in result.proposal.context:
                if hint.item is not None:
                    self._run("insert_shown_item", item=hint.item, attempt=claim.attempt)
            attempt = self.attempt(claim.attempt)
            if result.champion:
                self._run(
                    "set_champion",
                    campaign=attempt.campaign,
                    task=attempt.task,
                    attempt=attempt.id,
                )
            if result.remeasured:
                self._run("elect_champion", campaign=attempt.campaign, task=attempt.task)
            before = self._one("best_before", attempt=attempt.id)
            observation = Observation(attempt, result, before["best_before"], before["generator"])
            observe(observation, self._connection)
        return attempt

    def attempt(self, number: int) -> Attempt:
        """The attempt with this id. Raises UsageError where it is missing or not finished."""
        rows = self._all("attempt", attempt=number)
        if not rows:
            raise UsageError(f"{self.folder} has no attempt {number}")
        if rows[0]["done_at"] is None:
            raise UsageError(f"attempt {number} is not finished yet")
        return attempt_from(rows[0])

    def attempts(self, campaign: Campaign, task: int) -> tuple[Attempt, ...]:
        """The finished attempts of a task, in order."""
        rows = self._all("attempts_of_task", campaign=campaign.id, task=task)
        return tuple(attempt_from(row) for row in rows)

    def recent_attempts(self, campaign: Campaign, task: int, most: int) -> tuple[Attempt, ...]:
        """The latest finished attempts of a task, in order."""
        rows = self._all("recent_attempts", campaign=campaign.id, task=task, most=most)
        return tuple(attempt_from(row) for row in reversed(rows))

    def attempts_elsewhere(self, campaign: Campaign, task: int, most: int) -> tuple[Attempt, ...]:
        """Judged attempts of a task on the campaign's target in other campaigns, the fastest
        first."""
        key = {"campaign": campaign.id, "task": task, "backend": campaign.settings.backend}
        rows = self._all("attempts_elsewhere", **key, most=most)
        return tuple(attempt_from(row) for row in rows)

    def predictions(self, campaign: Campaign | None = None) -> list[Prediction]:
        """Predictions of judged attempts with what came of them; of all campaigns by default."""
        number = None if campaign is None else campaign.id
        return [Prediction(**row) for row in self._all("predictions", campaign=number)]

    def recent_predictions(self, campaign: Campaign, most: int) -> list[Prediction]:
        """The latest predictions of a campaign, in no particular order, without their models."""
        rows = self._all("recent_predictions", campaign=campaign.id, most=most)
        return [Prediction(**row) for row in rows]

    def attempts_with_source(
        self, campaign: Campaign, task: int, digest: str
    ) -> tuple[Attempt, ...]:
        """The finished attempts of a task with this candidate."""
        rows = self._all("attempts_of_source", campaign=campaign.id, task=task, source=digest)
        return tuple(attempt_from(row) for row in rows)

    def best_attempt(self, campaign: Campaign, task: str) -> Attempt:
        """The champion of a task, or its latest attempt where none has passed.

        Raises UsageError where the campaign has no such task, or no attempt on it.
        """
        entry = next((one for one in self.tasks(campaign) if one.name == task), None)
        if entry is None:
            raise UsageError(f"campaign {campaign.id} of {self.folder} has no task {task!r}")
        if entry.champion is not None:
            return self.attempt(entry.champion)
        attempts = () if entry.task is None else self.attempts(campaign, entry.task)
        if not attempts:
            raise UsageError(f"{task} has had no attempt in campaign {campaign.id} yet")
        return attempts[-1]

    def store_remeasured(
        self, attempt: Attempt, verdict: Verdict, observe: Callable[[Transaction], None]
    ) -> None:
        """Store a later verdict on an attempt and what `observe` makes of it, in one transaction;
        the champion may change."""
        with transaction(self._connection):
            self._store_measurement(attempt.id, verdict)
            observe(self._connection)
            self._run("elect_champion", campaign=attempt.campaign, task=attempt.task)

    def champion_speed(self, campaign: Campaign, task: int) -> float | None:
        """Speed of a task's champion over all of its measurements, as a multiple of the baseline's;
        None without a champion."""
        for row in self._all("champion_speed", campaign=campaign.id, task=task):
            return float(row["speed"])
        return None

    def lineage(self, attempt: Attempt) -> list[Attempt]:
        """From the first ancestor to the attempt itself."""
        line = [attempt]
        while line[-1].parent is not None:
            line.append(self.attempt(line[-1].parent))
        return line[::-1]

    def candidate(self, attempt: Attempt) -> Candidate | None:
        if attempt.source is None or attempt.origin is None:
            return None
        packed = self._one("source", digest=attempt.source)["files"]
        files = unpacked(packed, dict[str, str])
        return Candidate(files, Origin(attempt.origin), f"attempt {attempt.id}")

    def verdict(self, attempt: int, kind: VerdictKind | None = None) -> Verdict | None:
        """The verdict of one kind; by default the one that decided: confirming, else first."""
        kinds = (VerdictKind.CONFIRMING, VerdictKind.FIRST) if kind is None else (kind,)
        for one in kinds:
            for row in self._all("verdict", attempt=attempt, kind=one):
                return unpacked(row["body"], Verdict)
        return None

    def first_verdict(self, backend: str, task: int) -> Verdict | None:
        """The verdict of the first attempt at a task that passed, over all campaigns on a
        backend."""
        for row in self._all("first_passed", backend=backend, task=task):
            return self.verdict(row["id"], VerdictKind.FIRST)
        return None

    def calls(self, attempt: int) -> list[ModelCall]:
        """The model calls of an attempt, in order."""
        return [
            msgspec.convert(dict(row), ModelCall, strict=False)
            for row in self._all("calls", attempt=attempt)
        ]

    def conversation(self, attempt: int) -> list[tuple[SaidText, ...]]:
        """Prompt and answer of each call of an attempt, in order; empty where they were pruned."""
        return read_conversation(self._connection, attempt, len(self.calls(attempt)))

    def conversations_size(self) -> ConversationsSize:
        """The size of all prompts and answers."""
        return ConversationsSize(**self._one("conversation_size"))

    def prune_conversations(self, campaign: int | None, keep_champions: bool) -> None:
        """Remove prompts and answers: of one campaign or all, but for champions if asked to."""
        with transaction(self._connection):
            self._run("prune_messages", campaign=campaign, keep_champions=keep_champions)
            self._run("prune_texts")

    def compact(self) -> None:
        """Give the space of removed rows back to the disk."""
        with clear_errors():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def planned(self, attempt: int) -> AttemptPlan | None:
        for row in self._all("plan", attempt=attempt):
            return unpacked(row["body"], AttemptPlan)
        return None

    def store_final(self, attempt: int, verdict: Verdict) -> None:
        self._store_verdict(attempt, VerdictKind.FINAL, verdict)

    # Sums

    def totals(self, campaign: Campaign) -> Totals:
        return Totals(**self._one("totals", campaign=campaign.id))

    def written_by_models(self, campaign: Campaign) -> list[WrittenByModel]:
        """The finished attempts that a model wrote, in no particular order."""
        rows = self._all("written_by_models", campaign=campaign.id)
        return [WrittenByModel(**row) for row in rows]

    def spending(self, campaign: Campaign) -> list[Spending]:
        """What the models cost, by task, role and model."""
        return [Spending(**row) for row in self._all("spending", campaign=campaign.id)]

    def task_progress(self, campaign: Campaign) -> TaskProgressSummary:
        return TaskProgressSummary(**self._one("task_progress", campaign=campaign.id))

    def efforts(self, campaign: Campaign) -> dict[int, Effort]:
        """Time and cost of the tasks that had attempts, by their id."""
        rows = self._all("efforts", campaign=campaign.id)
        return {row["task"]: Effort(**row) for row in rows}

    def failures(self, campaign: Campaign, task: int, most: int) -> list[Failure]:
        """The reasons why attempts of a task failed, the most frequent first."""
        rows = self._all("failures", campaign=campaign.id, task=task, most=most)
        return [Failure(**row) for row in rows]

    def expenses(self, campaign: Campaign) -> Expenses:
        return Expenses(self.folder, campaign.id)

    def outcomes(self, campaign: Campaign) -> list[AttemptOutcome]:
        rows = self._all("outcomes", campaign=campaign.id)
        return msgspec.convert([tuple(row) for row in rows], list[AttemptOutcome])

    def resources(self, campaign: Campaign) -> list[AttemptResources]:
        """The attempts that passed and whose resources are known, by task."""
        rows = self._all("resources", campaign=campaign.id)
        return [AttemptResources(**row) for row in rows]

    def best(self, backend: str) -> list[Best]:
        """The fastest champion of each task, over all campaigns on a backend."""
        return [Best(**row) for row in self._all("champions", backend=backend)]

    def _register(self) -> Owner:
        try:
            owner = Owner(self.folder / _OWNERS)
            remove_dead_owners(self.folder / _OWNERS)
        except OSError as error:
            raise WorkspaceError(f"cannot write in {self.folder}: {error.strerror}") from error
        return owner

    def _store_verdict(self, attempt: int, kind: VerdictKind, verdict: Verdict) -> None:
        self._run("insert_verdict", attempt=attempt, kind=kind, body=packed(verdict))

    def _store_measurement(self, attempt: int, verdict: Verdict) -> None:
        """A lost runner measured nothing."""
        if not verdict.is_lost:
            latency = verdict.latency if verdict.passed else None
            ratio = None if latency is None else latency.over_baseline.ratio
            counted = latency is not None and latency.counted
            self._run("insert_measurement", attempt=attempt, ratio=ratio, counted=counted)

    def _store_calls_and_plan(self, attempt: int, result: Result) -> None:
        for number, call in enumerate(result.calls, start=1):
            columns = msgspec.structs.asdict(call)
            said = columns.pop("said")
            self._run("insert_call", attempt=attempt, number=number, **columns)
            store_conversation(self._connection, attempt, number, said)
        draft = result.draft
        guidance = result.proposal.guidance
        planned = AttemptPlan(
            None if guidance is None else guidance.without_code(),
            draft.plan if draft is not None else None,
            draft.diagnosis if draft is not None else None,
        )
        if any(msgspec.structs.astuple(planned)):
            self._run("insert_plan", attempt=attempt, body=packed(planned))

    def _owner_name(self) -> str:
        return "" if self._owner is None else self._owner.name

    def _run(self, name: str, /, **values: Any) -> int:
        with clear_errors():
            return self._connection.execute(query(name), values).rowcount

    def _all(self, name: str, /, **values: Any) -> list[sqlite3.Row]:
        with clear_errors():
            return self._connection.execute(query(name), values).fetchall()

    def _one(self, name: str, /, **values: Any) -> sqlite3.Row:
        (row,) = self._all(name, **values)
        return row


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
