"""How a cell can fail, as its parent sees it."""

import signal


class CellFailure(Exception):
    """Base: the cell did not answer as it should."""


class CellCrashed(CellFailure):
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

    def describe(self) -> str:
        if self.signal_number is not None:
            how = f"was killed by {self.signal_name}"
        elif self.exit_code is not None:
            how = f"ended with exit code {self.exit_code}"
        else:
            how = "vanished"
        return f"{how}; it last printed {self.last_line!r}" if self.last_line else how


class CellLimitExceeded(CellFailure):
    """The warden ended the cell because it took more than its policy allows."""

    def __init__(self, limit: str, detail: str) -> None:
        self.limit = limit
        super().__init__(f"over its limit of {limit}: {detail}")


class CellTimeout(CellFailure):
    """No answer within the time given."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"no answer within {seconds:.3g} s")


class CellRestless(CellFailure):
    """It does not stand still when it is stopped: something inside evades or wakes it."""


class CellProtocolError(CellFailure):
    """An answer that is not of the protocol: oversized, malformed, or out of turn."""


class ZygoteLost(Exception):
    """The warm process ended by itself or was killed; the next cell starts a new one.

    Not a `CellFailure`: no fault of what was to run in the cell.
    """
