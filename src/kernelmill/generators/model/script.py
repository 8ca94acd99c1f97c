"""A script in place of an endpoint: answers from a file, chosen by what is asked."""

import fnmatch
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.model.protocol import Client, Piece, Question, Stop, Usage
from kernelmill.generators.model.settings import Role

_BYTES_A_TOKEN = 4


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, and whom it is for."""

    text: str
    role: Role | None = None
    """Whoever asks, where it names none."""
    task: str = "*"
    """A pattern for the task's name."""
    when: str = ""
    """Words that the question must hold."""
    turn: int | None = None
    """1: the first answer; 2: after one that could not be used."""
    stop: Stop = Stop.END


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answer: tuple[Line, ...]


def read_script(path: Path) -> Script:
    """Raises GeneratorUnavailable."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Script)
    except OSError as error:
        raise GeneratorUnavailable(f"cannot read the script {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise GeneratorUnavailable(f"{path} is no script: {error}") from error


class ScriptedClient(Client):
    """Of the lines that fit, the seed picks one; where none does, it says nothing."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def stream(self, question: Question) -> Iterator[Piece]:
        said = "\n".join(message.text for message in question.messages)
        fitting = [line for line in self._script.answer if _fits(line, question, said)]
        chosen = fitting[question.seed % len(fitting)] if fitting else Line("")
        yield Piece(chosen.text)
        tokens_out = len(chosen.text) // _BYTES_A_TOKEN
        yield Piece(stop=chosen.stop, usage=Usage(question.bytes // _BYTES_A_TOKEN, tokens_out))


def _fits(line: Line, question: Question, said: str) -> bool:
    return (
        line.role in (None, question.role)
        and line.turn in (None, question.turn)
        and fnmatch.fnmatchcase(question.about, line.task)
        and line.when in said
    )
