"""Server-sent events, as far as endpoints use them."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import Failed

_DONE = "[DONE]"
_T = TypeVar("_T")


def events(lines: Iterable[str], kind: type[_T]) -> Iterator[_T]:
    """The data of each event; comments and names of events are passed over."""
    for line in lines:
        field, _, value = line.partition(":")
        value = value.strip()
        if field != "data" or not value:
            continue
        if value == _DONE:
            return
        try:
            yield msgspec.json.decode(value, type=kind)
        except msgspec.DecodeError as error:
            raise Failed(
                Problem.NOT_UNDERSTOOD, f"an event is not what it should be: {error}", charged=True
            ) from error
