"""A sandbox: a confined process under a supervisor, and the forks that are made of it."""

import os
import signal
import socket
from contextlib import suppress

from kernelmill.sandbox.channel import Channel, ChannelClosed, channel_pair, close_files
from kernelmill.sandbox.failures import (
    SandboxCrashed,
    SandboxFailure,
    SandboxLimitExceeded,
    SandboxProtocolError,
)
from kernelmill.sandbox.logs import sealed_log
from kernelmill.sandbox.process import ConfinedProcess
from kernelmill.sandbox.processes import (
    OpenFile,
    children_of,
    open_files,
    parent_of,
    wait_for_end,
)

_SPAWN_SECONDS = 30.0
_END_SECONDS = 10.0
_REPORT_SECONDS = 0.2
"""Time for the supervisor to notice a limit that a fork has gone over."""
_FORK_LOG_BYTES = 1 << 16
_NOTHING = "/dev/null"


class Sandbox(ConfinedProcess):
    """The confined process that a zygote has forked. Its end is the end of everything inside."""

    def __init__(self, channel: Channel, control: Channel, log: int) -> None:
        super().__init__(channel, log)
        self._control = control
        self._files_at_first: list[OpenFile] | None = None
        self.pid = self._guarded(lambda: channel.peer_process(_SPAWN_SECONDS))

    def fork(self, timeout: float) -> "SandboxFork":
        """A new process that begins as a copy of this one, which is stopped meanwhile.

        The program inside answers the request "fork" by `serving.serve_forks`. It is not trusted:
        a copy of its memory is all that a fork may get from it, and nothing comes back. So there
        may be no other process, no second thread and no open file through which it could.
        """
        self._require_alone()
        ours, theirs = channel_pair()
        ours.expect_greeting()
        log = sealed_log(_FORK_LOG_BYTES)
        self.resume()
        self.send({"do": "fork"}, (theirs.fileno(), log))
        theirs.close()
        pid = self._guarded(lambda: ours.peer_process(timeout))
        fork = SandboxFork(self, ours, log, pid)
        close_files(self.receive(timeout).files)
        self.stop()
        self._require_alone(pid)
        return fork

    def require_no_strays(self, *forks: int) -> None:
        """Raise SandboxProtocolError where there is any process beside these forks."""
        supervisor = parent_of(self.pid)
        orphans = set(children_of(supervisor)) - {self.pid} if supervisor is not None else set()
        children = set(children_of(self.pid))
        if not children.issuperset(forks):
            raise SandboxProtocolError("a fork is another process than it should be")
        grandchildren = {child for fork in forks for child in children_of(fork)}
        if strays := orphans | grandchildren | children - set(forks):
            raise SandboxProtocolError(f"{len(strays)} processes were left running")

    def _require_alone(self, *forks: int) -> None:
        """Raise SandboxProtocolError where anything in the sandbox could carry values along."""
        self.require_no_strays(*forks)
        threads = len(self.threads())
        if threads > 1:
            raise SandboxProtocolError(
                f"the constructor leaves {threads - 1} threads behind: a forward may start "
                "threads, loading and constructing may not"
            )
        files = open_files(self.pid)
        sockets = [file.name for file in files if file.name.startswith("socket:")]
        others = [file.name for file in files if file.name not in (_NOTHING, *sockets)]
        if others or len(sockets) > 1:
            raise SandboxProtocolError(
                f"loading leaves files open: {', '.join(others or sockets[1:])[:200]}"
            )
        inherited = [file for file in files if file.name == _NOTHING]
        if self._files_at_first is None:
            self._files_at_first = inherited
        if inherited != self._files_at_first:
            raise SandboxProtocolError("a fork has changed files that all forks share")

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._channel.close()
        # Shutting down our half tells the supervisor; its own end closes the other half.
        sock = socket.socket(fileno=os.dup(self._control.fileno()))
        try:
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(_END_SECONDS)
            while sock.recv(4096):
                pass
        except (TimeoutError, OSError):
            pass
        finally:
            sock.close()
            self._control.close()
            os.close(self._log)

    def _explain_end(self) -> SandboxFailure:
        """The reason behind a closed channel, as the supervisor reports it."""
        return self.reported_end(_END_SECONDS) or SandboxCrashed(None, None, self._last_line())

    def reported_end(self, seconds: float) -> SandboxFailure | None:
        """The end that the supervisor reports within this time."""
        if self.closed:
            return None
        try:
            end = self._control.receive(seconds).body
        except (ChannelClosed, SandboxFailure):
            return None
        if end.get("event") == "limit":
            return SandboxLimitExceeded(end["limit"], end["detail"])
        return SandboxCrashed(end["exit_code"], end["signal_number"], self._last_line())


class SandboxFork(ConfinedProcess):
    """A fork of a sandbox's process. Closing it ends it; the sandbox lives on.

    System calls that would leave something behind for the next fork are refused to it, and the
    process that it was forked from is stopped while it lives.
    """

    def __init__(self, sandbox: Sandbox, channel: Channel, log: int, pid: int) -> None:
        super().__init__(channel, log)
        self._sandbox = sandbox
        self.pid = pid

    def _stop(self) -> None:
        """Stop it, and require that nothing else goes on: a process that it has started inherits
        its processors, so that only what outlasts the clock could pay."""
        super()._stop()
        self._sandbox.require_no_strays(self.pid)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._channel.close()
        for pid in (*children_of(self.pid), self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for_end(pid, _END_SECONDS)
        os.close(self._log)

    def _explain_end(self) -> SandboxFailure:
        status = wait_for_end(self.pid, _REPORT_SECONDS)
        limit = self._sandbox.reported_end(_REPORT_SECONDS if status is None else 0.0)
        if limit is not None:
            return limit
        if status is None:
            return SandboxCrashed(None, None, self._last_line())
        exited = os.WIFEXITED(status)
        return SandboxCrashed(
            os.WEXITSTATUS(status) if exited else None,
            None if exited else os.WTERMSIG(status),
            self._last_line(),
        )
