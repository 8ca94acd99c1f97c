"""How a runner answers: one request after the other. Used inside cells only."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.judge.hosting import failure
from kernelmill.sandbox.channel import Channel, Message

Command = Callable[[Message], tuple[Any, tuple[int, ...]]]
"""An answer, and the open files that go with it."""


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
