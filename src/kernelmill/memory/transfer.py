"""Export of a memory to one portable file, and import with merging.

The file is gzipped JSON lines: a header, then one line per item with its values. Vectors are left
out: the importing memory embeds with its own embedder, so that vectors of two embedders never mix.
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

from kernelmill.memory.items import Item, ItemKind, ItemValue, NewItem
from kernelmill.memory.store import Memory
from kernelmill.memory.values import RewardStatistics, ValueEstimate
from kernelmill.records.errors import UsageError

_FORMAT = "kernelmill-memory-1"
_BATCH = 512


class Header(msgspec.Struct, frozen=True):
    format: str
    name: str
    """Name of the exported workspace."""
    statistics: dict[str, RewardStatistics]


class ExportedItem(msgspec.Struct, frozen=True):
    item: Item
    values: tuple[ItemValue, ...]
    files: dict[str, str] = {}
    """Source files of the item's candidate, as earlier versions wrote them."""
    sources: dict[str, dict[str, str]] = {}
    """Sources that it names and that no earlier line has, by digest."""


class Imported(NamedTuple):
    fresh: int
    merged: int


def export_memory(memory: Memory, path: Path, name: str, without: tuple[str, ...] = ()) -> int:
    """Write all items but `api` ones, and return their number.

    Items of tasks that match a pattern of `without` are left out. Raises UsageError where the file
    cannot be written.
    """
    try:
        return _write(memory, path, name, without)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _write(memory: Memory, path: Path, name: str, without: tuple[str, ...]) -> int:
    values: dict[int, list[ItemValue]] = defaultdict(list)
    for value in memory.all_values():
        values[value.item].append(value)
    count = 0
    written: set[str] = set()
    with gzip.open(path, "wb") as file:
        file.write(_json_line(Header(_FORMAT, name, memory.all_statistics())))
        for item in memory.all_items():
            task = item.provenance.task
            if item.kind is ItemKind.API or any(fnmatch(task, one) for one in without):
                continue
            sources = _sources(memory, item, written)
            written |= sources.keys()
            file.write(_json_line(ExportedItem(item, tuple(values[item.id]), sources=sources)))
            count += 1
    return count


def _sources(memory: Memory, item: Item, written: set[str]) -> dict[str, dict[str, str]]:
    named = {one for one in (item.source, item.change_from, item.change_to) if one is not None}
    found = {one: memory.source_files(one) for one in sorted(named - written)}
    return {digest: files for digest, files in found.items() if files}


def import_memory(memory: Memory, path: Path) -> Imported:
    """Add new items and merge known ones; merged values are weighted by their visits.

    Call it inside of a transaction, which makes it all or nothing. Raises UsageError for a file
    that is incomplete, of another format, or imported before.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if memory.was_imported(digest):
            raise UsageError(
                f"{path} was imported before; importing it again would count its visits twice"
            )
        memory.record_import(digest)
        return _read(memory, path)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise UsageError(f"{path} is not a complete memory file: {error}") from error


def _read(memory: Memory, path: Path) -> Imported:
    fresh = merged = 0
    with gzip.open(path, "rb") as file:
        header = msgspec.json.decode(file.readline(), type=Header)
        if header.format != _FORMAT:
            raise UsageError(f"{path} has format {header.format!r}, this version reads {_FORMAT}")
        for backend, theirs in header.statistics.items():
            memory.set_statistics(backend, memory.statistics(backend).merged(theirs))
        for batch in _batches(msgspec.json.decode(text, type=ExportedItem) for text in file):
            known = [memory.find(line.item.fingerprint) is not None for line in batch]
            ids = memory.add_all([_new_item(line, header.name, memory) for line in batch])
            for line, item in zip(batch, ids, strict=True):
                _merge_values(memory, item, line.values)
            merged += sum(known)
            fresh += len(batch) - sum(known)
    return Imported(fresh, merged)


def _new_item(line: ExportedItem, name: str, memory: Memory) -> NewItem:
    item = line.item
    if item.source is not None:
        memory.add_source(item.source, line.files)
    for digest, files in line.sources.items():
        memory.add_source(digest, files)
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
        _stored(memory, item.source),
        _stored(memory, item.change_from),
        _stored(memory, item.change_to),
        item.evidence,
        imported_fingerprint=item.fingerprint,
    )


def _stored(memory: Memory, source: str | None) -> str | None:
    return source if memory.source_files(source) else None


def _merge_values(memory: Memory, item: int, values: tuple[ItemValue, ...]) -> None:
    for one in values:
        mine = memory.values([item], one.role).get((item, one.family))
        merged = one.value if mine is None else _weighted(mine, one.value)
        memory.set_value(item, one.role, one.family, merged)


def _weighted(first: ValueEstimate, second: ValueEstimate) -> ValueEstimate:
    visits = first.visits + second.visits
    share = first.visits / visits if visits else 0.5
    return ValueEstimate(share * first.value + (1 - share) * second.value, visits)


def _batches(lines: Iterator[ExportedItem]) -> Iterator[list[ExportedItem]]:
    batch: list[ExportedItem] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _json_line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
