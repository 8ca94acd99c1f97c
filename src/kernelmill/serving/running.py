"""Running an HTTP server: its address, its token, and its end."""

import os
import secrets
import socket
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette

from kernelmill.records.errors import UsageError
from kernelmill.serving.guard import LOOPBACK, Guard

TOKEN_VARIABLE = "KERNELMILL_TOKEN"
STOPPING = "is_stopping"
"""The attribute of an application's state that tells endless answers when to end."""
_GRACE_SECONDS = 3


class Address(NamedTuple):
    host: str
    port: int
    token: str
    """Empty where only programs of this machine can connect."""

    @property
    def url(self) -> str:
        query = f"/?token={self.token}" if self.token else "/"
        return f"http://{self.host}:{self.port}{query}"


class BoundServer(NamedTuple):
    """A server whose port is taken: who connects now is answered once it runs."""

    address: Address
    server: uvicorn.Server
    socket: socket.socket

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self.server.run(sockets=[self.socket])


def bind(app: Starlette, host: str, port: int) -> BoundServer:
    """Take a port (0: any) for an application behind a guard. Raises UsageError.

    Beyond this machine a token is needed: that of the environment, or a new one.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    if host not in LOOPBACK and not token:
        token = secrets.token_urlsafe(24)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host.strip("[]"), port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    config = uvicorn.Config(
        Guard(app, host, token),
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )
    address = Address(host, bound.getsockname()[1], token)
    server = uvicorn.Server(config)
    setattr(app.state, STOPPING, lambda: server.should_exit)
    return BoundServer(address, server, bound)
