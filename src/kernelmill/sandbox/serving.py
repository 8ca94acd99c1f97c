"""Request loop of a program in a sandbox. Needs no framework."""

import gc
import os
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.sandbox.channel import Channel, ChannelMessage, close_files
from kernelmill.sandbox.large_pages import use_large_pages

Command = Callable[[ChannelMessage], tuple[Any, tuple[int, ...]]]
"""Handles a request; returns the answer and the open files to send with it."""
_TRACE_LINES = 6
_MOST_MESSAGE = 2000


class Done(msgspec.Struct, tag="done"):
    """The answer to a request that asks for no value."""


class ProgramFailed(msgspec.Struct, tag="failed"):
    """An exception raised by the code in the sandbox."""

    error: str
    message: str
    lines: list[str]


def failure(error: BaseException, folder: Path) -> ProgramFailed:
    """An exception as an answer, with those lines of its traceback that lie in `folder`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if str(folder) in frame.filename]
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in own[-_TRACE_LINES:]
    ]
    message = str(error).strip()[:_MOST_MESSAGE]
    return ProgramFailed(type(error).__name__, message, lines)


def serve_forks(channel: Channel, run: Callable[[Channel], None]) -> None:
    """Answer `Done`, then every request with a fork that runs `run` on a channel of its own.

    The counterpart of `Sandbox.fork`, which sends the fork's channel and its log. Nothing more is
    printed into the log of this process, in which a fork could read what another has printed.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.close(nothing)
    gc.freeze()
    use_large_pages()
    channel.send(msgspec.to_builtins(Done()))
    while True:
        message = channel.receive()
        if os.fork() == 0:
            channel.close()
            run(_enter_fork(*message.files))
            return
        close_files(message.files)
        channel.send(msgspec.to_builtins(Done()))


def _enter_fork(channel_file: int, log: int) -> Channel:
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)
    channel = Channel(socket.socket(fileno=channel_file))
    channel.greet()
    return channel


class Server:
    """Runs commands by name; an exception they raise is sent as the answer."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder
        self._commands: dict[str, Command] = {}

    def add_command(self, name: str, command: Command) -> None:
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
