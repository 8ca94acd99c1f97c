"""A cache of answers on disk, so that the same question is paid for once.

The key is everything an endpoint is sent, and the seed. Two attempts never share an answer, but a
campaign that is resumed or repeated gets its earlier ones.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from kernelmill.generators.model.protocol import ModelAnswer, Question
from kernelmill.places import cache_home
from kernelmill.storage.packing import packed, unpacked
from kernelmill.storage.sql import Queries

_FILE = "answers.db"
_BUSY_SECONDS = 30.0
_query = Queries(Path(__file__).parent / "queries")


class AnswerCache:
    """Shared by all campaigns of a user. May be used from several threads and processes at once.

    A file that cannot be read or written is no error: then nothing is cached.
    """

    def __init__(self) -> None:
        self._path = cache_home() / _FILE

    def load(self, question: Question) -> ModelAnswer | None:
        """The answer to this question; None where it is not cached."""
        try:
            with self._opened() as database:
                row = database.execute(_query("load_answer"), {"key": _key(question)}).fetchone()
            return None if row is None else unpacked(row[0], ModelAnswer)
        except (sqlite3.Error, OSError, zlib.error, msgspec.DecodeError):
            return None

    def store(self, question: Question, answer: ModelAnswer) -> None:
        values = {"key": _key(question), "body": packed(answer)}
        try:
            with self._opened() as database:
                database.execute(_query("store_answer"), values)
        except (sqlite3.Error, OSError):
            return

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, _BUSY_SECONDS, isolation_level=None)
        with closing(connection) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_query("create_answers"))
            yield database


def _key(question: Question) -> str:
    model = question.model
    sent = (
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
    return hashlib.sha256(msgspec.json.encode(sent)).hexdigest()
