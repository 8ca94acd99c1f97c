"""Answers on the disk: the same question is paid for once.

The key is all that an endpoint is told, the seed among it: two attempts never share an answer, but
a campaign that is resumed or repeated gets the ones it got before.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from kernelmill.generators.model.protocol import Answer, Question
from kernelmill.places import cache_home
from kernelmill.workspace.packing import packed, unpacked
from kernelmill.workspace.sql import Queries

_FILE = "answers.db"
_BUSY_SECONDS = 30.0
_query = Queries(Path(__file__).parent / "queries")


def load(question: Question) -> Answer | None:
    """None where it is not known, or cannot be read."""
    try:
        with _opened() as database:
            row = database.execute(_query("answer"), {"key": _key(question)}).fetchone()
        return None if row is None else unpacked(row[0], Answer)
    except (sqlite3.Error, OSError, zlib.error, msgspec.DecodeError):
        return None


def store(question: Question, answer: Answer) -> None:
    """A cache that cannot be written is no error."""
    try:
        with _opened() as database:
            database.execute(_query("keep"), {"key": _key(question), "body": packed(answer)})
    except (sqlite3.Error, OSError):
        return


@contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    cache_home().mkdir(parents=True, exist_ok=True)
    path = cache_home() / _FILE
    with closing(sqlite3.connect(path, _BUSY_SECONDS, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(_query("answers"))
        yield database


def _key(question: Question) -> str:
    model = question.model
    told = (
        model.protocol,
        model.endpoint,
        model.name,
        model.effort,
        model.thinking_tokens,
        model.temperature,
        question.messages,
        question.max_tokens,
        question.seed,
    )
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()
