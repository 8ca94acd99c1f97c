"""First-fit allocator over one block of memory."""

from typing import NamedTuple

_GRANULARITY = 2 << 20


class _Span(NamedTuple):
    address: int
    bytes: int


class FreeList:
    """The free spans of a block. Sizes are rounded up to 2 MiB; adjacent free spans are merged."""

    def __init__(self, address: int, size: int) -> None:
        self._free = [_Span(address, size // _GRANULARITY * _GRANULARITY)]

    def allocate(self, size: int) -> int | None:
        """The address of a span that is now in use; None where no free span is large enough."""
        wanted = _rounded_up(size)
        for index, span in enumerate(self._free):
            if span.bytes >= wanted:
                rest = _Span(span.address + wanted, span.bytes - wanted)
                self._free[index : index + 1] = [rest] if rest.bytes else []
                return span.address
        return None

    def free(self, address: int, size: int) -> None:
        """Return a span that was allocated with this size."""
        merged: list[_Span] = []
        for span in sorted([*self._free, _Span(address, _rounded_up(size))]):
            if merged and merged[-1].address + merged[-1].bytes == span.address:
                span = _Span(merged[-1].address, merged.pop().bytes + span.bytes)
            merged.append(span)
        self._free = merged


def _rounded_up(size: int) -> int:
    return -(-max(1, size) // _GRANULARITY) * _GRANULARITY
