"""Waiting for an answer with time-outs that no endpoint can stretch.

An endpoint that sends a byte now and then keeps a socket's time-out from ever passing. So a thread
of its own reads, and whoever waits looks at the clock.
"""

import queue
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import (
    Answer,
    Client,
    Failed,
    Piece,
    Question,
    Stop,
    Usage,
)
from kernelmill.generators.model.settings import Patience

_MOST_CHARACTERS = 1 << 20


class Leash:
    """Ends a reader from outside: once it is cut, the next bytes that come are the last."""

    def __init__(self) -> None:
        self.cut = False


leash: ContextVar[Leash] = ContextVar("leash")
"""Of the reader that this thread is."""


class _Reader(threading.Thread):
    """Reads an answer for somebody who may stop waiting for it."""

    def __init__(self, client: Client, question: Question) -> None:
        super().__init__(name="kernelmill-reader", daemon=True)
        self._client = client
        self._question = question
        self.leash = Leash()
        self.heard: queue.SimpleQueue[Piece | BaseException | None] = queue.SimpleQueue()

    def run(self) -> None:
        leash.set(self.leash)
        try:
            for piece in self._client.stream(self._question):
                self.heard.put(piece)
            self.heard.put(None)
        except BaseException as error:  # raised again by whoever waits
            self.heard.put(error)


def receive(client: Client, question: Question, patience: Patience) -> Answer:
    """The whole answer, or Failed."""
    reader = _Reader(client, question)
    reader.start()
    try:
        return _gather(_pieces(reader, patience))
    finally:
        reader.leash.cut = True


def _pieces(reader: _Reader, patience: Patience) -> Iterator[Piece]:
    end = time.monotonic() + patience.answer_seconds
    silence = patience.connect_seconds + patience.first_token_seconds
    while True:
        left = end - time.monotonic()
        try:
            heard = reader.heard.get(timeout=max(0.0, min(silence, left)))
        except queue.Empty:
            what = "the end" if left < silence else "a token"
            raise Failed(
                Problem.TIME_OUT, f"waited in vain for {what} of the answer", charged=True
            ) from None
        if heard is None:
            return
        if isinstance(heard, BaseException):
            raise heard
        yield heard
        silence = patience.between_tokens_seconds


def _gather(pieces: Iterator[Piece]) -> Answer:
    text: list[str] = []
    characters = 0
    stop: Stop | None = None
    usage: Usage | None = None
    for piece in pieces:
        text.append(piece.text)
        characters += len(piece.text)
        if characters > _MOST_CHARACTERS:
            return Answer("".join(text)[:_MOST_CHARACTERS], Stop.ENDLESS, None)
        stop, usage = piece.stop or stop, piece.usage or usage
    if stop is None:
        raise Failed(Problem.BROKEN_OFF, "the stream ended before the answer did", charged=True)
    return Answer("".join(text), stop, usage)
