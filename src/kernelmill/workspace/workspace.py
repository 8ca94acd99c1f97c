"""Typed access to a workspace: what campaigns write, and what everybody reads."""

import datetime
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.candidate import Candidate, Origin
from kernelmill.errors import UsageError, WorkspaceError
from kernelmill.generators.base import Hint, Standing
from kernelmill.generators.calls import Call, bill
from kernelmill.generators.decisions import Decisions
from kernelmill.judge import Verdict
from kernelmill.tasks.task import Task
from kernelmill.workspace.database import Transaction, clear_errors, open_database, transaction
from kernelmill.workspace.expenses import Expenses
from kernelmill.workspace.owners import Owner, forget_the_dead, is_alive
from kernelmill.workspace.packing import packed, unpacked
from kernelmill.workspace.records import (
    Attempt,
    Best,
    Campaign,
    CampaignSettings,
    CampaignTask,
    Claim,
    Event,
    NewTask,
    Observation,
    Outcome,
    Planned,
    Result,
    Seconds,
    Spending,
    Totals,
    VerdictKind,
)
from kernelmill.workspace.sql import query

_OWNERS = "owners"
Observer = Callable[[Observation, Transaction], None]


class Workspace:
    """One folder, one database. Several processes may hold it; one thread may use this object."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        """Open, or make, the workspace in a folder. Raises WorkspaceError."""
        self.folder = folder
        self._connection = open_database(folder, create)
        self._owner: Owner | None = None

    def close(self) -> None:
        self._connection.close()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def database(self) -> Transaction:
        """To read from; whoever writes does so inside of `writing`."""
        return self._connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """One transaction: all of it is kept, or nothing."""
        with transaction(self._connection) as opened:
            yield opened

    # Campaigns

    def create_campaign(self, settings: CampaignSettings, tasks: Sequence[NewTask]) -> Campaign:
        with transaction(self._connection):
            made_at = _now()
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
                msgspec.json.decode(row["settings"], type=CampaignSettings),
            )
            for row in self._all("campaigns")
        ]

    def campaign(self, number: int | None = None) -> Campaign:
        """The one with this number, or the latest. Raises UsageError where there is none."""
        campaigns = self.campaigns()
        if not campaigns:
            raise UsageError(f"{self.folder} holds no campaign yet")
        if number is None:
            return campaigns[-1]
        for campaign in campaigns:
            if campaign.id == number:
                return campaign
        raise UsageError(f"{self.folder} has no campaign {number}; the last is {campaigns[-1].id}")

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

    def note(self, campaign: Campaign, kind: str, text: str) -> None:
        self._run("insert_event", campaign=campaign.id, at=_now(), kind=kind, text=text)

    def events(self, campaign: Campaign) -> list[Event]:
        return [Event(**row) for row in self._all("events", campaign=campaign.id)]

    # Attempts

    def claim(self, campaign: Campaign, task: int) -> Claim | None:
        """The next attempt of a task, or one whose process died; None where none is left."""
        if self._owner is None:
            self._owner = self._register()
        owner, key = self._owner.name, {"campaign": campaign.id, "task": task}
        with transaction(self._connection):
            for row in self._all("planned_attempts", **key):
                if not is_alive(self.folder / _OWNERS, row["owner"]):
                    self._run("take_over", attempt=row["id"], owner=owner, at=_now())
                    return Claim(row["id"], row["number"])
            budget = campaign.settings.budget
            rows = self._all("plan_next", **key, owner=owner, at=_now(), budget=budget)
            return Claim(rows[0]["id"], rows[0]["number"]) if rows else None

    def release(self, claim: Claim) -> None:
        """Give a claimed attempt back as if it had never been planned."""
        self._run("release", attempt=claim.attempt, owner=self._owner_name())

    def complete(self, claim: Claim, result: Result, observe: Observer) -> Attempt:
        """Store everything about an attempt, and what is learned from it, or nothing at all."""
        with transaction(self._connection):
            draft = result.draft
            if draft is not None:
                files = packed(draft.candidate.files)
                self._run("insert_source", digest=draft.candidate.digest, files=files)
            values = _columns(result)
            changed = self._run(
                "complete", attempt=claim.attempt, owner=self._owner_name(), **values
            )
            if changed != 1:
                raise WorkspaceError(f"attempt {claim.attempt} is not this process's any more")
            for kind, verdict in (
                (VerdictKind.FIRST, result.verdict),
                (VerdictKind.CONFIRMING, result.confirming),
            ):
                if verdict is not None:
                    self._store_verdict(claim.attempt, kind, verdict)
            self._store_making(claim.attempt, result)
            attempt = self.attempt(claim.attempt)
            if result.champion:
                self._run(
                    "set_champion",
                    campaign=attempt.campaign,
                    task=attempt.task,
                    attempt=attempt.id,
                )
            standing = self._one("standing", attempt=attempt.id)
            observation = Observation(
                attempt, result, standing["best_before"], standing["generator"]
            )
            observe(observation, self._connection)
        return attempt

    def attempt(self, number: int) -> Attempt:
        """Raises UsageError where there is none, or it is not finished."""
        rows = self._all("attempt", attempt=number)
        if not rows:
            raise UsageError(f"{self.folder} has no attempt {number}")
        if rows[0]["done_at"] is None:
            raise UsageError(f"attempt {number} is not finished yet")
        return _attempt(rows[0])

    def attempts(self, campaign: Campaign, task: int) -> tuple[Attempt, ...]:
        """The finished ones, in order."""
        rows = self._all("attempts_of_task", campaign=campaign.id, task=task)
        return tuple(_attempt(row) for row in rows)

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
        """Of one kind, or the one that decided: a confirming verdict outranks the first."""
        kinds = (VerdictKind.CONFIRMING, VerdictKind.FIRST) if kind is None else (kind,)
        for one in kinds:
            for row in self._all("verdict", attempt=attempt, kind=one):
                return unpacked(row["body"], Verdict)
        return None

    def calls(self, attempt: int) -> list[Call]:
        """What was asked of models for it, in order."""
        return [
            msgspec.convert(dict(row), Call, strict=False)
            for row in self._all("calls", attempt=attempt)
        ]

    def planned(self, attempt: int) -> Planned | None:
        for row in self._all("plan", attempt=attempt):
            return unpacked(row["body"], Planned)
        return None

    def store_final(self, attempt: int, verdict: Verdict) -> None:
        self._store_verdict(attempt, VerdictKind.FINAL, verdict)

    # Sums

    def totals(self, campaign: Campaign) -> Totals:
        return Totals(**self._one("totals", campaign=campaign.id))

    def standings(self, campaign: Campaign) -> tuple[Standing, ...]:
        """What each model has brought so far."""
        rows = self._all("standings", campaign=campaign.id)
        return tuple(Standing(**row) for row in rows)

    def spending(self, campaign: Campaign) -> list[Spending]:
        """By task, role and model."""
        return [Spending(**row) for row in self._all("spending", campaign=campaign.id)]

    def expenses(self, campaign: Campaign) -> Expenses:
        return Expenses(self.folder, campaign.id)

    def outcomes(self, campaign: Campaign) -> list[Outcome]:
        rows = self._all("outcomes", campaign=campaign.id)
        return msgspec.convert([tuple(row) for row in rows], list[Outcome])

    def best(self, backend: str) -> list[Best]:
        """The fastest champion of each task over all campaigns on a backend."""
        return [Best(**row) for row in self._all("champions", backend=backend)]

    def _register(self) -> Owner:
        try:
            owner = Owner(self.folder / _OWNERS)
            forget_the_dead(self.folder / _OWNERS)
        except OSError as error:
            raise WorkspaceError(f"cannot write in {self.folder}: {error.strerror}") from error
        return owner

    def _store_verdict(self, attempt: int, kind: VerdictKind, verdict: Verdict) -> None:
        self._run("insert_verdict", attempt=attempt, kind=kind, body=packed(verdict))

    def _store_making(self, attempt: int, result: Result) -> None:
        for number, call in enumerate(result.calls, start=1):
            self._run("insert_call", attempt=attempt, number=number, **msgspec.structs.asdict(call))
        draft = result.draft
        planned = Planned(
            result.proposal.guidance,
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


def _columns(result: Result) -> dict[str, Any]:
    """A result as the columns of an attempt."""
    proposal, draft, verdict = result.proposal, result.draft, result.deciding
    latency = verdict.latency if verdict is not None and verdict.passed else None
    candidate = draft.candidate if draft is not None else None
    seconds = msgspec.structs.asdict(result.seconds)
    return {
        "state": result.state,
        "done_at": _now(),
        "stage": proposal.stage,
        "seed": proposal.seed,
        "parent": proposal.parent.attempt if proposal.parent is not None else None,
        "instruction": proposal.instruction,
        "context": packed(proposal.context),
        "gate": verdict.gate if verdict is not None else None,
        "reason": _reason(result),
        "latency_ms": latency.candidate_ms if latency is not None else None,
        "ratio": latency.over_eager.ratio if latency is not None else None,
        **msgspec.structs.asdict(bill(result.calls)),
        "prediction": draft.prediction if draft is not None else "",
        "decisions": _json(draft.decisions if draft is not None else {}),
        "origin": candidate.origin if candidate is not None else None,
        "source": candidate.digest if candidate is not None else None,
        **{f"{name}_seconds": value for name, value in seconds.items()},
    }


def _reason(result: Result) -> str:
    verdict = result.deciding
    if verdict is None:
        return result.declined
    if not verdict.feedback:
        return ""
    first = verdict.feedback[0]
    return f"{first.gate}: {first.kind}: {first.summary}"


def _attempt(row: sqlite3.Row) -> Attempt:
    names = {field.name for field in msgspec.structs.fields(Attempt)}
    values = {name: row[name] for name in row.keys() if name in names}  # noqa: SIM118
    values["seconds"] = {field: row[f"{field}_seconds"] for field in Seconds.__struct_fields__}
    values["decisions"] = msgspec.json.decode(row["decisions"], type=Decisions)
    values["context"] = unpacked(row["context"], tuple[Hint, ...])
    return msgspec.convert(values, Attempt)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
