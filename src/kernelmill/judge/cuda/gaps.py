"""Which parts of a block of memory are free."""

from typing import NamedTuple

_STEP = 2 << 20


class _Span(NamedTuple):
    address: int
    bytes: int


class Gaps:
    """First fit, in steps of 2 MiB; neighbours that are free become one."""

    def __init__(self, address: int, size: int) -> None:
        self._free = [_Span(address, size // _STEP * _STEP)]

    def take(self, size: int) -> int | None:
        """The address of a part that is now in use; None where no gap is large enough."""
        wanted = _stepped(size)
        for index, gap in enumerate(self._free):
            if gap.bytes >= wanted:
                rest = _Span(gap.address + wanted, gap.bytes - wanted)
                self._free[index : index + 1] = [rest] if rest.bytes else []
                return gap.address
        return None

    def give_back(self, address: int, size: int) -> None:
        """A part that was taken with this size."""
        joined: list[_Span] = []
        for span in sorted([*self._free, _Span(address, _stepped(size))]):
            if joined and joined[-1].address + joined[-1].bytes == span.address:
                span = _Span(joined[-1].address, joined.pop().bytes + span.bytes)
            joined.append(span)
        self._free = joined


def _stepped(size: int) -> int:
    return -(-max(1, size) // _STEP) * _STEP
