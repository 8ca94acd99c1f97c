"""The memory in a workspace's database: items, their values, the statistics of rewards.

Everything happens on a connection whose transactions belong to the caller: what is learned from an
attempt is kept or lost together with it, and writers wait for each other.
"""

import datetime
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.errors import WorkspaceError
from kernelmill.generators.decisions import Decisions
from kernelmill.memory.embedding import Embedder, HashedWords, Vectors, get_embedder
from kernelmill.memory.items import Item, ItemKind, ItemValue, NewItem, Provenance, Role
from kernelmill.memory.values import RewardStatistics, Value
from kernelmill.workspace import Transaction
from kernelmill.workspace.packing import packed, unpacked
from kernelmill.workspace.sql import Queries

_query = Queries(Path(__file__).parent / "queries")
_STORED = np.float16
_EMBEDDER = "embedder"
_REMOVALS = "removals"
_IMPORTED = "imported "
_MOST_PASSED = 200
"""Enough to clear every choice that is any good."""
_ALL_FAMILIES = ""


class Memory:
    """One memory. Used from one thread, like the connection it works on."""

    def __init__(self, connection: Transaction, embedder: Embedder | None = None) -> None:
        """Raises WorkspaceError where the memory was embedded by another embedder."""
        self._connection = connection
        made_by = self._fact(_EMBEDDER)
        if embedder is not None and made_by not in ("", embedder.name):
            raise WorkspaceError(
                f"this memory was embedded by {made_by}, not by {embedder.name}: "
                f"`kernelmill memory embed {embedder.name}` embeds it anew"
            )
        self.embedder = embedder or get_embedder(made_by or HashedWords.name)

    # Items

    def add(self, new: NewItem) -> int:
        """Its number; one that is already known is merged: counted, with the latest evidence."""
        return self.add_all([new])[0]

    def add_all(self, items: Sequence[NewItem]) -> list[int]:
        vectors = self.embedder.embed([item.subject for item in items])
        self._set_fact(_EMBEDDER, self.embedder.name)
        return [self._add(*pair) for pair in zip(items, vectors, strict=True)]

    def _add(self, new: NewItem, vector: npt.NDArray[np.float32]) -> int:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        row = self._one(
            "add_item",
            kind=new.kind,
            fingerprint=new.fingerprint,
            text=new.text,
            decisions=msgspec.json.encode(new.decisions).decode(),
            outcome=new.outcome,
            category=new.category,
            names=msgspec.json.encode(new.names).decode(),
            source=new.source,
            subject=new.subject,
            embedding=vector.astype(_STORED).tobytes(),
            now=now,
            **msgspec.structs.asdict(new.provenance),
        )
        for role, value in new.values.items():
            self._run("first_value", item=row["id"], role=role, family=_ALL_FAMILIES, value=value)
        return int(row["id"])

    def items(self, numbers: Iterable[int]) -> list[Item]:
        """In the order asked for; those that are gone are left out."""
        wanted = list(numbers)
        rows = self._all("items", numbers=msgspec.json.encode(wanted).decode())
        found = {row["id"]: _item(row) for row in rows}
        return [found[number] for number in wanted if number in found]

    def known(self, fingerprint: str) -> Item | None:
        rows = self._all("known", fingerprint=fingerprint)
        return _item(rows[0]) if rows else None

    def all_items(self) -> Iterator[Item]:
        for row in self._connection.execute(_query("all_items")):
            yield _item(row)

    def of_attempts(self, attempts: Iterable[int]) -> dict[int, Item]:
        """The traces of attempts, by the attempt's number."""
        numbers = msgspec.json.encode(list(attempts)).decode()
        rows = self._all("traces", attempts=numbers)
        return {row["attempt"]: _item(row) for row in rows}

    def of_kind(self, kind: ItemKind, backend: str) -> list[Item]:
        return [_item(row) for row in self._all("of_kind", kind=kind, backend=backend)]

    def api(self, backend: str, names: Iterable[str], category: str) -> list[Item]:
        """Facts by exact name, and all of one chapter."""
        values = {"names": msgspec.json.encode(list(names)).decode(), "category": category}
        return [_item(row) for row in self._all("api", backend=backend, **values)]

    def in_category(self, kind: ItemKind, backend: str, category: str, most: int) -> list[int]:
        """The items of a category that were met most often."""
        values = {"kind": kind, "backend": backend, "category": category, "most": most}
        return [row["id"] for row in self._all("in_category", **values)]

    def fastest(self, task: str, backend: str, most: int) -> list[int]:
        """The traces of what passed for a task: there, then on other backends."""
        return [row["id"] for row in self._all("fastest", task=task, backend=backend, most=most)]

    def passed(self, backend: str) -> list[Decisions]:
        """How what passed there was made: of many, those that were met most often."""
        rows = self._all("passed", backend=backend, most=_MOST_PASSED)
        return [msgspec.json.decode(row["decisions"], type=Decisions) for row in rows]

    def files(self, source: str | None) -> dict[str, str]:
        """The candidate behind a digest; empty where there is none."""
        for row in self._all("source", digest=source):
            return unpacked(row["files"], dict[str, str])
        return {}

    def add_source(self, digest: str | None, files: dict[str, str]) -> str | None:
        if digest is not None and files:
            self._run("add_source", digest=digest, files=packed(files))
            return digest
        return None

    def remove(self, numbers: Iterable[int]) -> None:
        self._run("remove_items", numbers=msgspec.json.encode(list(numbers)).decode())
        self._count_removal()

    # Embeddings

    def vectors(self, above: int, most: int) -> tuple[list[int], Vectors]:
        """The numbers and vectors of the first valued items that came after one."""
        rows = self._all("vectors", above=above, most=most)
        flat = np.frombuffer(b"".join(row["embedding"] for row in rows), _STORED)
        vectors = flat.astype(np.float32).reshape(len(rows), self.embedder.dimensions)
        return [row["id"] for row in rows], vectors

    @property
    def removals(self) -> int:
        """Changes whenever vectors went away or changed: a copy of them is stale then."""
        return int(self._fact(_REMOVALS) or 0)

    def embed_anew(self, embedder: Embedder, batch: int = 1024) -> int:
        """Embed every item with another embedder; all or nothing is the caller's transaction."""
        subjects = [(row["id"], row["subject"]) for row in self._all("subjects")]
        for start in range(0, len(subjects), batch):
            part = subjects[start : start + batch]
            vectors = embedder.embed([subject for _, subject in part])
            for (number, _), vector in zip(part, vectors, strict=True):
                self._run("set_embedding", item=number, vector=vector.astype(_STORED).tobytes())
        self.embedder = embedder
        self._set_fact(_EMBEDDER, embedder.name)
        self._count_removal()
        return len(subjects)

    # Values

    def values(self, numbers: Iterable[int], role: Role) -> dict[tuple[int, str], Value]:
        """By item and family; what was never valued is not in it."""
        wanted = msgspec.json.encode(list(numbers)).decode()
        return {
            (row["item"], row["family"]): Value(row["value"], row["visits"])
            for row in self._all("values", numbers=wanted, role=role)
        }

    def all_values(self) -> list[ItemValue]:
        return [
            ItemValue(
                row["item"], Role(row["stage"]), row["family"], Value(row["value"], row["visits"])
            )
            for row in self._all("all_values")
        ]

    def set_value(self, item: int, role: Role, family: str, value: Value) -> None:
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

    def was_imported(self, mark: str) -> bool:
        return bool(self._fact(_IMPORTED + mark))

    def note_import(self, mark: str) -> None:
        self._set_fact(_IMPORTED + mark, "yes")

    def _count_removal(self) -> None:
        self._set_fact(_REMOVALS, str(self.removals + 1))

    def _fact(self, name: str) -> str:
        rows = self._all("fact", name=name)
        return str(rows[0]["value"]) if rows else ""

    def _set_fact(self, name: str, value: str) -> None:
        self._run("set_fact", name=name, value=value)

    def _run(self, name: str, /, **values: object) -> None:
        self._connection.execute(_query(name), values)

    def _all(self, name: str, /, **values: object) -> list[sqlite3.Row]:
        return self._connection.execute(_query(name), values).fetchall()

    def _one(self, name: str, /, **values: object) -> sqlite3.Row:
        (row,) = self._all(name, **values)
        return row


def _item(row: sqlite3.Row) -> Item:
    provenance = {field: row[field] for field in Provenance.__struct_fields__}
    return Item(
        id=row["id"],
        kind=ItemKind(row["kind"]),
        text=row["text"],
        subject=row["subject"],
        provenance=Provenance(**provenance),
        fingerprint=row["fingerprint"],
        decisions=msgspec.json.decode(row["decisions"], type=Decisions),
        outcome=row["outcome"],
        category=row["category"],
        names=msgspec.json.decode(row["names"], type=tuple[str, ...]),
        source=row["source"],
        count=row["count"],
        made_at=row["made_at"],
        seen_at=row["seen_at"],
    )
