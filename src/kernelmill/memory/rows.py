"""Conversion between items and rows of the database."""

import datetime
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.memory.embedding import Vectors
from kernelmill.memory.items import Item, ItemEvidence, ItemKind, NewItem, Provenance
from kernelmill.records.decisions import Decisions
from kernelmill.records.errors import WorkspaceError
from kernelmill.storage.packing import decoded, packed, unpacked

_STORED = np.float16
"""The type of stored vectors: half the size, and exact enough to compare them."""


class StoredVectors(NamedTuple):
    """Ids and vectors of some items, in the order of their ids."""

    ids: list[int]
    vectors: Vectors


class VectorSnapshot(msgspec.Struct, frozen=True):
    """Identifies the vectors of all items up to one id: equal snapshots have equal vectors."""

    memory: str
    """Identity of the memory."""
    embedder: str
    removals: int
    last: int
    """Id of the last item."""
    count: int
    fingerprint: str
    """Fingerprint of the last item: an id may be used again after a power failure."""


def item_of(row: sqlite3.Row) -> Item:
    provenance = {field: row[field] for field in Provenance.__struct_fields__}
    return Item(
        id=row["id"],
        kind=_kind(row["kind"]),
        text=row["text"],
        subject=row["subject"],
        provenance=Provenance(**provenance),
        fingerprint=row["fingerprint"],
        decisions=decoded(row["decisions"], Decisions),
        outcome=row["outcome"],
        category=row["category"],
        names=decoded(row["names"], tuple[str, ...]),
        source=row["source"],
        change_from=row["change_from"],
        change_to=row["change_to"],
        evidence=evidence_of(row["evidence"]),
        count=row["count"],
        made_at=row["made_at"],
        seen_at=row["seen_at"],
    )


def _kind(name: str) -> ItemKind:
    try:
        return ItemKind(name)
    except ValueError as error:
        raise WorkspaceError(
            f"an item in the database of the workspace is damaged: {error}"
        ) from error


def item_columns(new: NewItem, vector: npt.NDArray[np.float32]) -> dict[str, Any]:
    return {
        "kind": new.kind,
        "fingerprint": new.fingerprint,
        "text": new.text,
        "decisions": json_text(new.decisions),
        "outcome": new.outcome,
        "category": new.category,
        "names": json_text(new.names),
        "source": new.source,
        "change_from": new.change_from,
        "change_to": new.change_to,
        "evidence": packed_evidence(new.evidence),
        "subject": new.subject,
        "embedding": packed_vector(vector),
        "now": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        **msgspec.structs.asdict(new.provenance),
    }


def packed_evidence(evidence: ItemEvidence) -> bytes | None:
    """None for an item without any."""
    return None if evidence == ItemEvidence() else packed(evidence)


def evidence_of(body: bytes | None) -> ItemEvidence:
    return ItemEvidence() if body is None else unpacked(body, ItemEvidence)


def packed_vector(vector: npt.NDArray[np.float32]) -> bytes:
    return vector.astype(_STORED).tobytes()


def unpacked_vectors(packed: Sequence[bytes], dimensions: int) -> Vectors:
    flat = np.frombuffer(b"".join(packed), _STORED)
    return flat.astype(np.float32).reshape(len(packed), dimensions)


def json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()
