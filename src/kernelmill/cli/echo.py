"""The echo of control characters: `^C` would break a table that is drawn again and again."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    import termios
except ImportError:  # not on this platform
    termios = None  # type: ignore[assignment]

_LOCAL_FLAGS = 3
"""The place of the local flags in what `tcgetattr` returns."""


class ControlEcho:
    """The terminal's setting, to be restored also by whoever ends the process at once."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def disable(self) -> None:
        if termios is None or not sys.stdin.isatty():
            return
        self._before = termios.tcgetattr(sys.stdin)
        quiet = termios.tcgetattr(sys.stdin)
        quiet[_LOCAL_FLAGS] &= ~termios.ECHOCTL
        termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)

    def restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            self._before = None


@contextmanager
def no_control_echo() -> Iterator[ControlEcho]:
    echo = ControlEcho()
    echo.disable()
    try:
        yield echo
    finally:
        echo.restore()
