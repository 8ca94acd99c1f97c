"""A memory as one portable file: exported, imported, merged.

A line of JSON for the header, one for each item with what it is worth. Vectors stay behind: whoever
imports embeds with its own embedder, so that two kinds never mix.
"""

import gzip
import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.errors import UsageError
from kernelmill.memory.items import Item, ItemKind, ItemValue, NewItem
from kernelmill.memory.store import Memory
from kernelmill.memory.values import RewardStatistics, Value

_FORMAT = "kernelmill-memory-1"
_BATCH = 512


class Header(msgspec.Struct, frozen=True):
    format: str
    name: str
    """Whose memory it is."""
    statistics: dict[str, RewardStatistics]


class Line(msgspec.Struct, frozen=True):
    item: Item
    values: tuple[ItemValue, ...]
    files: dict[str, str]
    """The candidate it speaks of."""


class Imported(NamedTuple):
    fresh: int
    merged: int


def export(memory: Memory, path: Path, name: str, without: tuple[str, ...] = ()) -> int:
    """Write everything but the guide's facts; `without` names tasks (patterns) to leave out.

    Raises UsageError where the file cannot be written.
    """
    try:
        return _export(memory, path, name, without)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _export(memory: Memory, path: Path, name: str, without: tuple[str, ...]) -> int:
    values: dict[int, list[ItemValue]] = defaultdict(list)
    for value in memory.all_values():
        values[value.item].append(value)
    count = 0
    with gzip.open(path, "wb") as file:
        file.write(_line(Header(_FORMAT, name, memory.all_statistics())))
        for item in memory.all_items():
            task = item.provenance.task
            if item.kind is ItemKind.API or any(fnmatch(task, one) for one in without):
                continue
            line = Line(item, tuple(values[item.id]), memory.files(item.source))
            file.write(_line(line))
            count += 1
    return count


def import_file(memory: Memory, path: Path) -> Imported:
    """Add what is new; what is known too is merged, its values weighted by their visits.

    The caller's transaction makes it all or nothing. Raises UsageError for what is no such file.
    """
    try:
        mark = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if memory.was_imported(mark):
            raise UsageError(f"{path} was imported before: its visits would count twice")
        memory.note_import(mark)
        return _import(memory, path)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise UsageError(f"{path} is no whole memory file: {error}") from error


def _import(memory: Memory, path: Path) -> Imported:
    fresh = merged = 0
    with gzip.open(path, "rb") as file:
        header = msgspec.json.decode(file.readline(), type=Header)
        if header.format != _FORMAT:
            raise UsageError(f"{path} has format {header.format!r}, this one reads {_FORMAT}")
        for backend, theirs in header.statistics.items():
            memory.set_statistics(backend, memory.statistics(backend).joined(theirs))
        for batch in _batches(msgspec.json.decode(text, type=Line) for text in file):
            known = [memory.known(line.item.fingerprint) is not None for line in batch]
            numbers = memory.add_all([_renewed(line, header.name, memory) for line in batch])
            for line, number in zip(batch, numbers, strict=True):
                _merge_values(memory, number, line.values)
            merged += sum(known)
            fresh += len(batch) - sum(known)
    return Imported(fresh, merged)


def _renewed(line: Line, name: str, memory: Memory) -> NewItem:
    item = line.item
    provenance = msgspec.structs.replace(
        item.provenance,
        campaign=None,
        attempt=None,
        imported_from=item.provenance.imported_from or name,
    )
    return NewItem(
        item.kind,
        item.text,
        item.subject,
        provenance,
        (),
        item.decisions,
        item.outcome,
        item.category,
        item.names,
        memory.add_source(item.source, line.files),
        known_as=item.fingerprint,
    )


def _merge_values(memory: Memory, item: int, values: tuple[ItemValue, ...]) -> None:
    for one in values:
        mine = memory.values([item], one.role).get((item, one.family))
        joined = one.value if mine is None else _weighted(mine, one.value)
        memory.set_value(item, one.role, one.family, joined)


def _weighted(first: Value, second: Value) -> Value:
    visits = first.visits + second.visits
    share = first.visits / visits if visits else 0.5
    return Value(share * first.value + (1 - share) * second.value, visits)


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
