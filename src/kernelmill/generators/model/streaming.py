"""Reading of a streamed answer, with time-outs that an endpoint cannot extend.

An endpoint that sends a byte now and then keeps a socket's time-out from ever passing. So a thread
of its own reads the stream, and the caller watches the clock.
"""

import queue
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.protocol import (
    AnswerChunk,
    EndpointClient,
    ModelAnswer,
    Question,
    RequestFailed,
    StopReason,
    Usage,
)
from kernelmill.records.model_settings import Patience

_MOST_CHARACTERS = 1 << 20

cancelled: ContextVar[threading.Event] = ContextVar("cancelled")
"""Set once the answer that the current thread reads is no longer wanted: the next bytes end it."""


class _Reader(threading.Thread):
    """Reads one answer for a caller that may stop waiting for it."""

    def __init__(self, client: EndpointClient, question: Question) -> None:
        super().__init__(name="kernelmill-reader", daemon=True)
        self._client = client
        self._question = question
        self.cancelled = threading.Event()
        self.received: queue.SimpleQueue[AnswerChunk | BaseException | None] = queue.SimpleQueue()
        """Chunks, then None for the end of the stream, or what was raised."""

    def run(self) -> None:
        cancelled.set(self.cancelled)
        try:
            for chunk in self._client.stream(self._question):
                self.received.put(chunk)
            self.received.put(None)
        except BaseException as error:  # raised again in the thread that waits
            self.received.put(error)


def receive_answer(client: EndpointClient, question: Question, patience: Patience) -> ModelAnswer:
    """The whole answer. Raises RequestFailed, or GeneratorUnavailable as the client does."""
    reader = _Reader(client, question)
    reader.start()
    try:
        return _joined(_chunks(reader, patience))
    finally:
        reader.cancelled.set()


def _chunks(reader: _Reader, patience: Patience) -> Iterator[AnswerChunk]:
    end = time.monotonic() + patience.answer_seconds
    longest_gap = patience.connect_seconds + patience.first_token_seconds
    while True:
        left = end - time.monotonic()
        try:
            received = reader.received.get(timeout=max(0.0, min(longest_gap, left)))
        except queue.Empty:
            awaited = "the end of the answer" if left < longest_gap else "a token"
            raise RequestFailed(
                CallProblem.TIME_OUT, f"gave up waiting for {awaited}", charged=True
            ) from None
        if received is None:
            return
        if isinstance(received, BaseException):
            raise received
        yield received
        longest_gap = patience.between_tokens_seconds


def _joined(chunks: Iterator[AnswerChunk]) -> ModelAnswer:
    text: list[str] = []
    characters = 0
    stop: StopReason | None = None
    usage: Usage | None = None
    for chunk in chunks:
        text.append(chunk.text)
        characters += len(chunk.text)
        if characters > _MOST_CHARACTERS:
            return ModelAnswer("".join(text)[:_MOST_CHARACTERS], StopReason.ENDLESS, None)
        stop, usage = chunk.stop or stop, chunk.usage or usage
    if stop is None:
        raise RequestFailed(
            CallProblem.BROKEN_OFF, "the stream ended before the answer did", charged=True
        )
    return ModelAnswer("".join(text), stop, usage)
