"""Reuse of scratch memory: a value lies where another lay that nobody reads any more.

Launches follow each other on one stream, so the last reader of the one has ended before the other
is written.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.ir.values import Buffer
from kernelmill.generators.composer.targets.triton.launch import Launch


class Reuse(NamedTuple):
    scratch: list[Buffer]
    """What is left to be allocated."""
    names: dict[str, str]
    """Where the others lie."""


def reuse(launches: Sequence[Launch], scratch: Sequence[Buffer]) -> Reuse:
    """Of the same shape and type alone: then no size decides what lies where."""
    own = {buffer.name: buffer for buffer in scratch}
    last = {name: at for at, launch in enumerate(launches) for name in launch.memory if name in own}
    free: dict[Hashable, list[str]] = {}
    names: dict[str, str] = {}
    for at, launch in enumerate(launches):
        used = [name for name in launch.memory if name in own]
        for name in used:
            if name not in names:
                same = free.get(_kind(own[name]), [])
                names[name] = same.pop() if same else name
        for name in used:
            if last[name] == at:
                free.setdefault(_kind(own[name]), []).append(names[name])
    return Reuse(
        [buffer for buffer in scratch if names.get(buffer.name) == buffer.name],
        {name: other for name, other in names.items() if name != other},
    )


def _kind(buffer: Buffer) -> Hashable:
    return buffer.dtype, buffer.shape
