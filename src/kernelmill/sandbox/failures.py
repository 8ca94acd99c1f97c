"""Failures of a sandbox, as its parent sees them."""

import signal


class SandboxFailure(Exception):
    """Base of the failures: the sandbox did not answer as it should."""


class SandboxCrashed(SandboxFailure):
    """The confined process ended without an answer."""

    def __init__(self, exit_code: int | None, signal_number: int | None, last_line: str) -> None:
        self.exit_code = exit_code
        self.signal_number = signal_number
        self.last_line = last_line
        super().__init__(self.describe())

    @property
    def signal_name(self) -> str | None:
        if self.signal_number is None:
            return None
        try:
            return signal.Signals(self.signal_number).name
        except ValueError:
            return f"signal {self.signal_number}"

    @property
    def killed_from_outside(self) -> bool:
        """Whether nothing that the process did explains its end: the system killed it, or it is
        gone without a trace."""
        killed = self.signal_number == signal.SIGKILL
        return killed or (self.exit_code is None and self.signal_number is None)

    def describe(self) -> str:
        how = self.without_output()
        return f"{how}; it last printed {self.last_line!r}" if self.last_line else how

    def without_output(self) -> str:
        """How it ended, without what it printed."""
        if self.signal_number is not None:
            return f"was killed by {self.signal_name}"
        if self.exit_code is not None:
            return f"ended with exit code {self.exit_code}"
        return "vanished"


class SandboxLimitExceeded(SandboxFailure):
    """The supervisor ended the sandbox because it went over a limit of its policy."""

    def __init__(self, limit: str, detail: str) -> None:
        self.limit = limit
        super().__init__(f"over its limit of {limit}: {detail}")


class SandboxTimeout(SandboxFailure):
    """No answer within the time given."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"no answer within {seconds:.3g} s")


class SandboxRanWhileStopped(SandboxFailure):
    """It used CPU time after it was stopped: something inside evades or undoes the stop."""


class SandboxProtocolError(SandboxFailure):
    """An answer that breaks the protocol: oversized, malformed, or out of turn."""


class ZygoteLost(Exception):
    """The warm process ended by itself or was killed; the next sandbox starts a new one.

    Not a `SandboxFailure`: what was to run in the sandbox is not to blame.
    """
