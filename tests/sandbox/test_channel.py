"""Messages between the two ends of a channel."""

import os
import socket
from typing import Any

import pytest

from kernelmill.sandbox.channel import Channel


def test_the_answer_of_a_peer_that_leaves_at_once_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other end may be gone before the call that sends to it has returned."""
    ours, theirs = socket.socketpair()
    channel, peer = Channel(ours), Channel(theirs)
    send_files = socket.send_fds

    def send_and_be_answered(*arguments: Any) -> int:
        sent = send_files(*arguments)
        os.close(peer.receive(5).files[0])
        peer.send({"answer": 1})
        peer.close()
        return sent

    monkeypatch.setattr(socket, "send_fds", send_and_be_answered)
    with open(os.devnull) as file:
        channel.send({"question": 1}, (file.fileno(),))
    assert channel.receive(5).body == {"answer": 1}
    channel.close()
