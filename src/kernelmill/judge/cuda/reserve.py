"""A runner that waits for its candidate.

A context on the device takes a quarter of a second to come up. That of the next candidate comes up
as soon as this one is done: while the next is compiled, and never while the clock runs.
"""

from typing import NamedTuple

from kernelmill.judge.subject import RunnerRaised, Subject
from kernelmill.sandbox import Cell, CellFailure, Policy, Zygote

_CANDIDATE = "kernelmill.judge.cuda.runner:run_candidate"
_SECONDS = 120.0


class Wish(NamedTuple):
    """What a runner must be like before anything is in it."""

    threads: int
    arena_bytes: int
    policy: Policy


class _Waiting(NamedTuple):
    cell: Cell
    wish: Wish

    def suits(self, wish: Wish) -> bool:
        enough = self.wish.arena_bytes >= wish.arena_bytes
        return enough and self.wish._replace(arena_bytes=0) == wish._replace(arena_bytes=0)


class Reserve:
    """Of one judge, whatever the task: at most one runner waits."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._waiting: _Waiting | None = None

    def take(self, wish: Wish) -> Cell:
        """A runner without a candidate. Raises CellFailure or RunnerRaised where none comes up."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if waiting.suits(wish) and _is_up(waiting.cell):
                return waiting.cell
            waiting.cell.close()
        cell = self._spawn(wish)
        try:
            _demand_up(cell)
        except (CellFailure, RunnerRaised):
            cell.close()
            raise
        return cell

    def fill(self, wish: Wish) -> None:
        """Let the next one come up."""
        self.close()
        self._waiting = _Waiting(self._spawn(wish), wish)

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cell.close()
            self._waiting = None

    def _spawn(self, wish: Wish) -> Cell:
        arguments = {
            "threads": wish.threads,
            "device_files": wish.policy.devices,
            "arena_bytes": wish.arena_bytes,
        }
        return self._zygote.spawn(_CANDIDATE, arguments, wish.policy)


def _is_up(cell: Cell) -> bool:
    try:
        _demand_up(cell)
    except (CellFailure, RunnerRaised):
        return False
    return True


def _demand_up(cell: Cell) -> None:
    Subject(cell).tell({"do": "stand by"}, _SECONDS)
