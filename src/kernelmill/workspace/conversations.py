"""Prompts and answers of models: stored by content, compressed, with the calls they belong to."""

import hashlib
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.records.errors import WorkspaceError
from kernelmill.records.model_calls import SaidText
from kernelmill.workspace.database import Transaction, clear_errors
from kernelmill.workspace.sql import query


class ConversationsSize(NamedTuple):
    messages: int
    texts: int
    """Different texts: one that several calls share is stored once."""
    characters: int
    stored_bytes: int


def store_conversation(
    connection: Transaction, attempt: int, call: int, said: Sequence[SaidText]
) -> None:
    for position, message in enumerate(said):
        encoded = message.text.encode(errors="replace")
        digest = hashlib.sha256(encoded).hexdigest()[:32]
        text = {
            "digest": digest,
            "characters": len(message.text),
            "body": zlib.compress(encoded),
        }
        place = {"attempt": attempt, "call": call, "position": position}
        with clear_errors():
            connection.execute(query("insert_text"), text)
            connection.execute(
                query("insert_call_message"),
                {**place, "speaker": message.speaker, "digest": digest},
            )


def read_conversation(
    connection: Transaction, attempt: int, calls: int
) -> list[tuple[SaidText, ...]]:
    said: list[list[SaidText]] = [[] for _ in range(calls)]
    with clear_errors():
        rows = connection.execute(query("conversation"), {"attempt": attempt}).fetchall()
    for row in rows:
        try:
            text = zlib.decompress(row["body"]).decode(errors="replace")
        except zlib.error as error:
            raise WorkspaceError(f"a prompt of attempt {attempt} is damaged: {error}") from error
        said[row["call"] - 1].append(SaidText(row["speaker"], text))
    return [tuple(messages) for messages in said]
