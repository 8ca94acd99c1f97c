"""Messages between a parent and a sandbox: length-prefixed JSON and open files over a UNIX socket.

Neither side ever unpickles: the worst a hostile peer can send is wrong JSON, or nothing.
"""

import array
import os
import select
import socket
import struct
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from kernelmill.sandbox.failures import SandboxProtocolError, SandboxTimeout

_HEADER = struct.Struct("=I")
_MOST_FILES = 8
_CREDENTIALS = struct.Struct("=iII")


class ChannelMessage(NamedTuple):
    """One received message."""

    body: dict[str, Any]
    files: list[int]
    """File descriptors sent with it; the receiver owns them."""


def close_files(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel:
    """One end of a socket pair. A longer message than `most_bytes` is a protocol error."""

    def __init__(self, sock: socket.socket, most_bytes: int = 4 << 20) -> None:
        self._socket = sock
        self._most_bytes = most_bytes

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, body: dict[str, Any], files: tuple[int, ...] = ()) -> None:
        payload = msgspec.json.encode(body)
        frame = _HEADER.pack(len(payload)) + payload
        self._socket.settimeout(None)
        try:
            sent = socket.send_fds(self._socket, [frame], list(files)) if files else 0
            if sent < len(
                frame
            ):  # not an empty send, which fails where the peer has answered and left
                self._socket.sendall(frame[sent:])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def wait(self, timeout: float) -> None:
        """Return when an answer begins to arrive, or the peer has closed. Raises SandboxTimeout."""
        if not self.ready(timeout):
            raise SandboxTimeout(timeout)

    def ready(self, seconds: float) -> bool:
        """Whether there is something to receive within this time."""
        poll = select.poll()  # `select` takes no descriptor above 1023
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def receive(self, timeout: float | None = None) -> ChannelMessage:
        deadline = None if timeout is None else time.monotonic() + timeout
        header, files = self._exactly(_HEADER.size, timeout, deadline)
        (length,) = _HEADER.unpack(header)
        if length > self._most_bytes:
            self._drop(files)
            raise SandboxProtocolError(
                f"a message of {length} bytes, at most {self._most_bytes} allowed"
            )
        payload, more = self._exactly(length, timeout, deadline)
        files += more
        try:
            body = msgspec.json.decode(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            self._drop(files)
            raise SandboxProtocolError(f"a message that is not JSON: {error}") from error
        if not isinstance(body, dict):
            self._drop(files)
            raise SandboxProtocolError("a message that is not a JSON object")
        return ChannelMessage(body, files)

    def expect_greeting(self) -> None:
        """Ask the kernel to record the pid of senders. Must come before the peer greets."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def peer_process(self, timeout: float) -> int:
        """The pid of the peer, as the kernel recorded it with the greeting (one byte)."""
        self._socket.settimeout(timeout)
        try:
            data, ancillary, _, _ = self._socket.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        except TimeoutError as error:
            raise SandboxTimeout(timeout) from error
        finally:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        if not data:
            raise ChannelClosed
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                pid = int(_CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0])
                if pid > 0:
                    return pid
        raise SandboxProtocolError("a greeting without the pid of its sender")

    def greet(self) -> None:
        """Send the first byte, from which the other side learns our pid."""
        self._socket.send(b"!")

    def _exactly(
        self, count: int, timeout: float | None, deadline: float | None
    ) -> tuple[bytes, list[int]]:
        chunks: list[bytes] = []
        files: list[int] = []
        while count:
            if deadline is not None:
                self._socket.settimeout(max(1e-4, deadline - time.monotonic()))
            else:
                self._socket.settimeout(None)
            try:
                chunk, ancillary, _, _ = self._socket.recvmsg(
                    min(count, 1 << 20), socket.CMSG_LEN(_MOST_FILES * 4), socket.MSG_CMSG_CLOEXEC
                )
            except TimeoutError as error:
                self._drop(files)
                raise SandboxTimeout(timeout or 0.0) from error
            except ConnectionResetError as error:
                self._drop(files)
                raise ChannelClosed from error
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    received = array.array("i")
                    received.frombytes(content[: len(content) - len(content) % 4])
                    files += received
            if not chunk:
                self._drop(files)
                raise ChannelClosed
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks), files

    @staticmethod
    def _drop(files: list[int]) -> None:
        for file in files:
            os.close(file)


def channel_pair() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs)
