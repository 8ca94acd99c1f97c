"""Storage of a memory in a workspace's database: items, values, statistics of rewards.

All access goes through a connection whose transactions belong to the caller: what is learned from
an attempt is committed or rolled back together with it, and writers wait for each other.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.memory.embedding import Embedder, HashedWords, get_embedder
from kernelmill.memory.items import Item, ItemEvidence, ItemKind, ItemValue, NewItem, ValueRole
from kernelmill.memory.rows import (
    StoredVectors,
    VectorSnapshot,
    item_columns,
    item_of,
    json_text,
    packed_evidence,
    packed_vector,
    unpacked_vectors,
)
from kernelmill.memory.values import RewardStatistics, ValueEstimate
from kernelmill.records.decisions import Decisions
from kernelmill.records.errors import WorkspaceError
from kernelmill.storage.packing import packed, unpacked
from kernelmill.storage.sql import Queries
from kernelmill.workspace import Transaction
from kernelmill.workspace.database import clear_errors

_query = Queries(Path(__file__).parent / "queries")
_EMBEDDER = "embedder"
_IDENTITY = "identity"
_REMOVALS = "removals"
_IMPORTED = "imported "
_MOST_PASSED = 200
"""Decisions of passed kernels that are compared with those of a failed one."""
_ALL_FAMILIES = ""


class Memory:
    """One memory. Used from one thread, like the connection it works on.

    Methods raise WorkspaceError where the database cannot be read or written.
    """

    def __init__(self, connection: Transaction, embedder: Embedder | None = None) -> None:
        """Raises WorkspaceError if the memory was embedded by another embedder."""
        self._connection = connection
        made_by = self._metadata(_EMBEDDER)
        if embedder is not None and made_by not in ("", embedder.name):
            raise WorkspaceError(
                f"this memory was embedded by {made_by}, not by {embedder.name}: "
                f"`kernelmill memory embed {embedder.name}` re-embeds it"
            )
        self.embedder = embedder or get_embedder(made_by or HashedWords.name)

    @property
    def file(self) -> Path | None:
        """The database file; None for a database in RAM."""
        for row in self._connection.execute("PRAGMA database_list"):
            if row["name"] == "main" and row["file"]:
                return Path(row["file"])
        return None

    @property
    def database(self) -> Transaction:
        """The database it is part of: its caller's transaction covers other tables, too."""
        return self._connection

    @property
    def in_transaction(self) -> bool:
        """Whether what it reads may still be rolled back."""
        return self._connection.in_transaction

    # Items

    def add(self, new: NewItem) -> int:
        """Add or merge an item; return its id. A known item is counted and its evidence updated."""
        return self.add_all([new])[0]

    def add_all(self, items: Sequence[NewItem]) -> list[int]:
        vectors = self.embedder.embed([item.subject for item in items])
        self._set_metadata(_EMBEDDER, self.embedder.name)
        return [self._add(*pair) for pair in zip(items, vectors, strict=True)]

    def _add(self, new: NewItem, vector: npt.NDArray[np.float32]) -> int:
        row = self._one("add_item", **item_columns(new, vector))
        for role, value in new.values.items():
            self._run("initial_value", item=row["id"], role=role, family=_ALL_FAMILIES, value=value)
        return int(row["id"])

    def items(self, ids: Iterable[int]) -> list[Item]:
        """Items in the order of `ids`; removed ones are left out."""
        wanted = list(ids)
        rows = self._all("items", ids=json_text(wanted))
        found = {row["id"]: item_of(row) for row in rows}
        return [found[one] for one in wanted if one in found]

    def find(self, fingerprint: str) -> Item | None:
        rows = self._all("item_by_fingerprint", fingerprint=fingerprint)
        return item_of(rows[0]) if rows else None

    def all_items(self) -> Iterator[Item]:
        for row in self._connection.execute(_query("all_items")):
            yield item_of(row)

    def traces_of(self, attempts: Iterable[int]) -> dict[int, Item]:
        """Traces by the id of their attempt."""
        ids = json_text(list(attempts))
        rows = self._all("traces_of_attempts", attempts=ids)
        return {row["attempt"]: item_of(row) for row in rows}

    def of_kind(self, kind: ItemKind, backend: str) -> list[Item]:
        return [item_of(row) for row in self._all("of_kind", kind=kind, backend=backend)]

    def api_facts(self, backend: str, names: Iterable[str], chapter: str) -> list[Item]:
        """Facts of the guide that name one of `names`, and all facts of one chapter."""
        values = {"names": json_text(list(names)), "category": chapter}
        return [item_of(row) for row in self._all("api_facts", backend=backend, **values)]

    def most_frequent(self, kind: ItemKind, backend: str, category: str, most: int) -> list[int]:
        """Ids of the items of a category that occurred most often."""
        values = {"kind": kind, "backend": backend, "category": category, "most": most}
        return [row["id"] for row in self._all("most_frequent", **values)]

    def fastest_traces(self, task: str, backend: str, most: int) -> list[int]:
        """Ids of traces that passed for a task: on this backend first, then on others."""
        values = {"task": task, "backend": backend, "most": most}
        return [row["id"] for row in self._all("fastest_traces", **values)]

    def passed_decisions(self, backend: str) -> list[Decisions]:
        """Decisions of kernels that passed on a backend, the most frequent first."""
        rows = self._all("passed_decisions", backend=backend, most=_MOST_PASSED)
        return [msgspec.json.decode(row["decisions"], type=Decisions) for row in rows]

    def source_files(self, source: str | None) -> dict[str, str]:
        """Files of the candidate with a digest; empty where it is not stored."""
        for row in self._all("source", digest=source):
            return unpacked(row["files"], dict[str, str])
        return {}

    def add_source(self, digest: str | None, files: dict[str, str]) -> str | None:
        if digest is not None and files:
            self._run("add_source", digest=digest, files=packed(files))
            return digest
        return None

    def set_change(
        self, item: int, change_from: str | None, change_to: str | None, evidence: ItemEvidence
    ) -> None:
        """Set the change that an item is about, and its evidence. The sources are stored."""
        self._run(
            "set_change",
            item=item,
            change_from=change_from,
            change_to=change_to,
            evidence=packed_evidence(evidence),
        )

    def set_blame(self, item: int, decisions: Decisions) -> None:
        """Set the decisions that a failure is blamed on."""
        self._run("set_blame", item=item, decisions=json_text(decisions))

    def acquit_source(self, backend: str, task: str, source: str) -> None:
        """Withdraw the failures of a source on a task that has passed since."""
        self._run("acquit_source", backend=backend, task=task, source=source)

    def remove(self, ids: Iterable[int]) -> None:
        self._run("remove_items", ids=json_text(list(ids)))
        self._count_removal()

    # Embeddings

    def vectors(self, above: int, most: int) -> StoredVectors:
        """The first `most` items with an id above one, without `api` items."""
        rows = self._all("vectors", above=above, most=most)
        vectors = unpacked_vectors([row["embedding"] for row in rows], self.embedder.dimensions)
        return StoredVectors([row["id"] for row in rows], vectors)

    @property
    def removals(self) -> int:
        """Counts removals and re-embeddings: a copy of the vectors is stale once it changes."""
        return int(self._metadata(_REMOVALS) or 0)

    def snapshot(self, last: int) -> VectorSnapshot:
        """Identifies the vectors of all items up to the id `last`, as they are now."""
        row = self._one("vector_snapshot", last=last)
        return VectorSnapshot(
            self._metadata(_IDENTITY),
            self.embedder.name,
            self.removals,
            last,
            row["count"],
            row["fingerprint"] or "",
        )

    def re_embed(self, embedder: Embedder, batch: int = 1024) -> int:
        """Embed every item with another embedder, inside of the caller's transaction."""
        subjects = [(row["id"], row["subject"]) for row in self._all("subjects")]
        for start in range(0, len(subjects), batch):
            part = subjects[start : start + batch]
            vectors = embedder.embed([subject for _, subject in part])
            for (item, _), vector in zip(part, vectors, strict=True):
                self._run("set_embedding", item=item, vector=packed_vector(vector))
        self.embedder = embedder
        self._set_metadata(_EMBEDDER, embedder.name)
        self._count_removal()
        return len(subjects)

    # Values

    def values(self, ids: Iterable[int], role: ValueRole) -> dict[tuple[int, str], ValueEstimate]:
        """Values by item and family; an item without a value in this role is left out."""
        wanted = json_text(list(ids))
        return {
            (row["item"], row["family"]): ValueEstimate(row["value"], row["visits"])
            for row in self._all("values", ids=wanted, role=role)
        }

    def all_values(self) -> list[ItemValue]:
        return [
            ItemValue(
                row["item"],
                ValueRole(row["stage"]),
                row["family"],
                ValueEstimate(row["value"], row["visits"]),
            )
            for row in self._all("all_values")
        ]

    def set_value(self, item: int, role: ValueRole, family: str, value: ValueEstimate) -> None:
        self._run(
            "set_value",
            item=item,
            role=role,
            family=family,
            value=value.value,
            visits=value.visits,
        )

    def statistics(self, backend: str) -> RewardStatistics:
        for row in self._all("statistics", backend=backend):
            return RewardStatistics(row["count"], row["mean"], row["squares"])
        return RewardStatistics()

    def all_statistics(self) -> dict[str, RewardStatistics]:
        rows = self._all("all_statistics")
        return {
            row["backend"]: RewardStatistics(row["count"], row["mean"], row["squares"])
            for row in rows
        }

    def set_statistics(self, backend: str, statistics: RewardStatistics) -> None:
        self._run("set_statistics", backend=backend, **msgspec.structs.asdict(statistics))

    def was_imported(self, digest: str) -> bool:
        """Whether the file with this digest was imported before."""
        return bool(self._metadata(_IMPORTED + digest))

    def record_import(self, digest: str) -> None:
        self._set_metadata(_IMPORTED + digest, "yes")

    def _count_removal(self) -> None:
        self._set_metadata(_REMOVALS, str(self.removals + 1))

    def _metadata(self, name: str) -> str:
        rows = self._all("metadata", name=name)
        return str(rows[0]["value"]) if rows else ""

    def _set_metadata(self, name: str, value: str) -> None:
        self._run("set_metadata", name=name, value=value)

    def _run(self, name: str, /, **values: object) -> None:
        with clear_errors():
            self._connection.execute(_query(name), values)

    def _all(self, name: str, /, **values: object) -> list[sqlite3.Row]:
        with clear_errors():
            return self._connection.execute(_query(name), values).fetchall()

    def _one(self, name: str, /, **values: object) -> sqlite3.Row:
        (row,) = self._all(name, **values)
        return row
