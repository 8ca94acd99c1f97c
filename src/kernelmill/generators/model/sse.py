"""Server-sent events, as far as endpoints use them."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.protocol import RequestFailed

_DONE = "[DONE]"
_T = TypeVar("_T")


def decode_events(lines: Iterable[str], event_type: type[_T]) -> Iterator[_T]:
    """The data of each event up to `[DONE]`; comments and event names are skipped.

    Raises RequestFailed for data that is not of the event type.
    """
    for line in lines:
        field, _, value = line.partition(":")
        value = value.strip()
        if field != "data" or not value:
            continue
        if value == _DONE:
            return
        try:
            yield msgspec.json.decode(value, type=event_type)
        except msgspec.DecodeError as error:
            raise RequestFailed(
                CallProblem.NOT_UNDERSTOOD, f"an event cannot be decoded: {error}", charged=True
            ) from error
