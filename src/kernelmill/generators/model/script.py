"""The endpoint client of a script: answers from a file, selected by the question."""

import fnmatch
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kernelmill.generators.model.protocol import (
    AnswerChunk,
    EndpointClient,
    Question,
    StopReason,
    Usage,
)
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_settings import ModelRole

_BYTES_PER_TOKEN = 4


class ScriptedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, and the questions it is for."""

    text: str
    role: ModelRole | None = None
    """The role that is asked; None for any."""
    task: str = "*"
    """A pattern for the task's name, as of a shell."""
    when: str = ""
    """A text that the prompt contains."""
    turn: int | None = None
    """1 for the first answer, 2 after an unusable one; None for any."""
    stop: StopReason = StopReason.END


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answer: tuple[ScriptedAnswer, ...]


def read_script(path: Path) -> Script:
    """Raises GeneratorUnavailable."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Script)
    except OSError as error:
        raise GeneratorUnavailable(f"cannot read the script {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise GeneratorUnavailable(f"{path} is not a valid script: {error}") from error


class ScriptClient(EndpointClient):
    """If several answers fit a question, its seed picks one; if none fits, the answer is empty."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def stream(self, question: Question) -> Iterator[AnswerChunk]:
        prompt = "\n".join(message.text for message in question.messages)
        fitting = [answer for answer in self._script.answer if _fits(answer, question, prompt)]
        chosen = fitting[question.seed % len(fitting)] if fitting else ScriptedAnswer("")
        yield AnswerChunk(chosen.text)
        usage = Usage(question.bytes // _BYTES_PER_TOKEN, len(chosen.text) // _BYTES_PER_TOKEN)
        yield AnswerChunk(stop=chosen.stop, usage=usage)


def _fits(answer: ScriptedAnswer, question: Question, prompt: str) -> bool:
    return (
        answer.role in (None, question.role)
        and answer.turn in (None, question.turn)
        and fnmatch.fnmatchcase(question.task, answer.task)
        and answer.when in prompt
    )
