"""Messages between a parent and a cell: length-framed JSON over a UNIX socket, with files.

Neither side ever unpickles: a hostile peer can send wrong JSON or nothing, and no more.
"""

import array
import os
import select
import socket
import struct
import time
from typing import Any, NamedTuple

import msgspec

from kernelmill.sandbox.failures import CellProtocolError, CellTimeout

_HEADER = struct.Struct("=I")
_MOST_FILES = 8
_CREDENTIALS = struct.Struct("=iII")


class Message(NamedTuple):
    body: dict[str, Any]
    files: list[int]
    """File descriptors that came along; the receiver owns them."""


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel:
    """One end of a socket pair. `most_bytes` bounds what a peer can make us hold."""

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
            if sent < len(frame):  # who has answered and gone cannot be sent even nothing
                self._socket.sendall(frame[sent:])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def wait(self, timeout: float) -> None:
        """Return when the peer has begun to say something, or has hung up."""
        if not self.ready(timeout):
            raise CellTimeout(timeout)

    def ready(self, seconds: float) -> bool:
        """Whether there is something to receive, at the latest after this time."""
        poll = select.poll()  # `select` knows no file beyond the first thousand
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def receive(self, timeout: float | None = None) -> Message:
        deadline = None if timeout is None else time.monotonic() + timeout
        header, files = self._exactly(_HEADER.size, timeout, deadline)
        (length,) = _HEADER.unpack(header)
        if length > self._most_bytes:
            self._drop(files)
            raise CellProtocolError(f"a message of {length} bytes")
        payload, more = self._exactly(length, timeout, deadline)
        files += more
        try:
            body = msgspec.json.decode(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            self._drop(files)
            raise CellProtocolError(f"not JSON: {error}") from error
        if not isinstance(body, dict):
            self._drop(files)
            raise CellProtocolError("not an object")
        return Message(body, files)

    def expect_greeting(self) -> None:
        """Must come before the peer greets: the kernel notes a sender only for who asks for it."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def peer_process(self, timeout: float) -> int:
        """The pid of the peer, as the kernel says it: reads the peer's first byte."""
        self._socket.settimeout(timeout)
        try:
            data, ancillary, _, _ = self._socket.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        except TimeoutError as error:
            raise CellTimeout(timeout) from error
        finally:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        if not data:
            raise ChannelClosed
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                pid = int(_CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0])
                if pid > 0:
                    return pid
        raise CellProtocolError("a greeting from nobody")

    def greet(self) -> None:
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
                raise CellTimeout(timeout or 0.0) from error
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
