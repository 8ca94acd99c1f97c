"""Rows of the table of attempts, from and to records."""

import datetime
import sqlite3
from typing import Any

import msgspec

from kernelmill.records.attempt import Attempt, Result, Seconds
from kernelmill.records.decisions import Decisions
from kernelmill.records.model_calls import bill
from kernelmill.records.proposal import Credit, Hint
from kernelmill.records.verdict import Resources
from kernelmill.storage.packing import converted, decoded, packed, unpacked

_COLUMNS = frozenset(Attempt.__struct_fields__)


def now() -> str:
    """The time as it is stored: UTC, in ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def result_columns(result: Result) -> dict[str, Any]:
    """The columns of a finished attempt."""
    proposal, draft, verdict = result.proposal, result.draft, result.deciding
    passed = verdict if verdict is not None and verdict.passed else None
    latency = passed.latency if passed is not None else None
    resources = passed.resources if passed is not None else Resources()
    candidate = draft.candidate if draft is not None else None
    seconds = msgspec.structs.asdict(result.seconds)
    return {
        "state": result.state,
        "done_at": now(),
        "stage": proposal.stage,
        "seed": proposal.seed,
        "parent": proposal.parent.attempt if proposal.parent is not None else None,
        "instruction": proposal.instruction,
        "context": packed([hint.without_code() for hint in proposal.context]),
        "gate": verdict.gate if verdict is not None else None,
        "reason": _reason(result),
        "latency_ms": latency.candidate_ms if latency is not None else None,
        "ratio": latency.over_baseline.ratio if latency is not None else None,
        **msgspec.structs.asdict(resources),
        **msgspec.structs.asdict(bill(result.calls)),
        "prediction": draft.prediction if draft is not None else "",
        "decisions": msgspec.json.encode(draft.decisions if draft is not None else {}).decode(),
        "credit": _json(draft.credit if draft is not None else None),
        "origin": candidate.origin if candidate is not None else None,
        "source": candidate.digest if candidate is not None else None,
        **{f"{name}_seconds": value for name, value in seconds.items()},
    }


def _json(value: object | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _reason(result: Result) -> str:
    verdict = result.deciding
    if verdict is None:
        return result.declined
    if not verdict.feedback:
        return ""
    first = verdict.feedback[0]
    return f"{first.gate}: {first.kind}: {first.summary}"


def attempt_from(row: sqlite3.Row) -> Attempt:
    values = {name: row[name] for name in row.keys() if name in _COLUMNS}  # noqa: SIM118
    values["seconds"] = {field: row[f"{field}_seconds"] for field in Seconds.__struct_fields__}
    values["decisions"] = decoded(row["decisions"], Decisions)
    values["context"] = unpacked(row["context"], tuple[Hint, ...])
    if row["credit"] is not None:
        values["credit"] = decoded(row["credit"], Credit)
    return converted(values, Attempt)
