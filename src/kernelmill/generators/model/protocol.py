"""The contract of an endpoint client, and what passes through it: a question in, chunks out."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal

import msgspec

from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.records.model_settings import Model, ModelRole


class ChatMessage(msgspec.Struct, frozen=True):
    speaker: Literal["system", "user", "assistant"]
    text: str


class Question(msgspec.Struct, frozen=True):
    """One request to one model in one role, with the conversation so far."""

    model: Model
    role: ModelRole
    task: str
    """The task's name. A script may select by it; it is not sent to an endpoint."""
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    seed: int
    """The attempt's seed: another attempt that asks the same gets an answer of its own."""

    @property
    def turn(self) -> int:
        """1 for the first question of a conversation, 2 after an unusable answer."""
        return 1 + sum(message.speaker == "assistant" for message in self.messages)

    @property
    def bytes(self) -> int:
        """The size of all messages together."""
        return sum(len(message.text.encode()) for message in self.messages)


class StopReason(enum.StrEnum):
    """Why an answer ended."""

    END = "end"
    LENGTH = "length"
    """It reached the question's `max_tokens`."""
    REFUSAL = "refusal"
    ENDLESS = "endless"
    """It was longer than any answer that is read to its end."""


class Usage(msgspec.Struct, frozen=True):
    tokens_in: int
    tokens_out: int
    """Hidden thinking included."""


class AnswerChunk(msgspec.Struct, frozen=True):
    """A part of a streamed answer; empty where the endpoint only shows that it is still alive."""

    text: str = ""
    stop: StopReason | None = None
    usage: Usage | None = None


class ModelAnswer(msgspec.Struct, frozen=True):
    text: str
    """Exactly what the model said."""
    stop: StopReason
    usage: Usage | None


class RequestFailed(Exception):
    """A request that got no usable answer from its endpoint."""

    def __init__(
        self,
        problem: CallProblem,
        message: str,
        *,
        retryable: bool = True,
        charged: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{problem}: {message}")
        self.problem = problem
        self.retryable = retryable
        """Whether the same request may succeed later."""
        self.charged = charged
        """Whether the endpoint may bill it all the same."""
        self.retry_after = retry_after
        """The pause that the endpoint asks for, in seconds."""


class EndpointClient(ABC):
    """Speaks one endpoint's wire protocol for one model: one request, no cache and no retries.

    May be used from several threads at once.
    """

    @abstractmethod
    def stream(self, question: Question) -> Iterator[AnswerChunk]:
        """The answer, chunk by chunk.

        Raises RequestFailed, or GeneratorUnavailable where no question could be answered.
        """
