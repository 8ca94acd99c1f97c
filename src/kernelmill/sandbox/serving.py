"""How a program in a cell answers: one request after the other. Needs no framework."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.sandbox.channel import Channel, Message

Command = Callable[[Message], tuple[Any, tuple[int, ...]]]
"""An answer, and the open files that go with it."""
_TRACE_LINES = 6
_MOST_MESSAGE = 2000


class Failed(msgspec.Struct, tag="failed"):
    """An exception of the code inside."""

    error: str
    message: str
    lines: list[str]


def failure(error: BaseException, folder: Path) -> Failed:
    """With the lines of the files in `folder` that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if str(folder) in frame.filename]
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in own[-_TRACE_LINES:]
    ]
    message = str(error).strip()[:_MOST_MESSAGE]
    return Failed(type(error).__name__, message, lines)


class Server:
    """Knows commands by name; what they raise is an answer too."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder
        self._commands: dict[str, Command] = {}

    def also(self, name: str, command: Command) -> None:
        self._commands[name] = command

    def serve(self) -> None:
        while True:
            message = self._channel.receive()
            try:
                answer, files = self._commands[message.body["do"]](message)
            except BaseException as error:  # the candidate's own code, SystemExit included
                answer, files = failure(error, self._folder), ()
            self._channel.send(msgspec.to_builtins(answer), files)
            for file in (*files, *message.files):
                os.close(file)
