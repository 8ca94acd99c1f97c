"""The contract of a client: one question to one endpoint, answered piece by piece."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal

import msgspec

from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.settings import Model, Role


class Message(msgspec.Struct, frozen=True):
    speaker: Literal["system", "user", "assistant"]
    text: str


class Question(msgspec.Struct, frozen=True):
    """One question in one role, with all that was said before it."""

    model: Model
    role: Role
    about: str
    """The task; no endpoint is told, but a script may go by it."""
    messages: tuple[Message, ...]
    max_tokens: int
    seed: int
    """Which of many equally good answers: another attempt asks for another one."""

    @property
    def turn(self) -> int:
        """How many answers of this conversation it has to better, plus one."""
        return 1 + sum(message.speaker == "assistant" for message in self.messages)

    @property
    def bytes(self) -> int:
        return sum(len(message.text.encode()) for message in self.messages)


class Stop(enum.StrEnum):
    END = "end"
    LENGTH = "length"
    """It was as long as it may be."""
    REFUSAL = "refusal"
    ENDLESS = "endless"
    """Nobody waited for its end."""


class Usage(msgspec.Struct, frozen=True):
    tokens_in: int
    tokens_out: int
    """Hidden thinking included."""


class Piece(msgspec.Struct, frozen=True):
    """A sign of life: some text, the end, the bill, or nothing but that it still thinks."""

    text: str = ""
    stop: Stop | None = None
    usage: Usage | None = None


class Answer(msgspec.Struct, frozen=True):
    text: str
    stop: Stop
    usage: Usage | None


class Failed(Exception):
    """No answer to this question, this time."""

    def __init__(
        self,
        problem: Problem,
        message: str,
        *,
        again: bool = True,
        charged: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(f"{problem}: {message}")
        self.problem = problem
        self.again = again
        """Whether the same question may be answered later."""
        self.charged = charged
        """Whether the endpoint may bill it all the same."""
        self.wait = wait
        """How long the endpoint asks to be left alone, in seconds."""


class Client(ABC):
    """Asks one endpoint for one model. May be used from several threads at once."""

    @abstractmethod
    def stream(self, question: Question) -> Iterator[Piece]:
        """Raises Failed, or GeneratorUnavailable where no question could be answered."""
