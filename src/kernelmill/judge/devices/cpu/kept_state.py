"""Variables of a candidate's own libraries, which no call may change.

What a call leaves there could decide what a later call does, however long after the verdict.
"""

from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple

from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from kernelmill.backends.base import MOST_VARIABLE_BYTES
from kernelmill.sandbox import ConfinedProcess


class KeptState:
    """The writable memory of the libraries of one process, as it was at the beginning."""

    def __init__(self, process: ConfinedProcess, artefacts: Mapping[str, bytes]) -> None:
        """`artefacts` are the libraries that were built for the candidate, by file name."""
        self._process = process
        self._spans = _variables(process, artefacts)
        self._before = self._read()

    def has_changed(self) -> bool:
        return self._read() != self._before

    def _read(self) -> bytes:
        return self._process.read(self._spans).tobytes() if self._spans else b""


def _variables(process: ConfinedProcess, artefacts: Mapping[str, bytes]) -> list[tuple[int, int]]:
    """Where the variables of the libraries are: what each maps for writing, by its own headers.

    The memory map alone does not tell: other memory may lie right behind a library.
    """
    spans = []
    for region in process.regions():
        name = region.path.rpartition("/")[2]
        if region.offset == 0 and name in artefacts:
            spans += [
                (region.start + segment.address, segment.size)
                for segment in _writable_segments(artefacts[name])
            ]
    return spans if sum(size for _, size in spans) <= MOST_VARIABLE_BYTES else []


class _Segment(NamedTuple):
    address: int
    """Relative to where the library is mapped."""
    size: int


@lru_cache(maxsize=8)
def _writable_segments(library: bytes) -> tuple[_Segment, ...]:
    return tuple(
        _Segment(segment["p_vaddr"], segment["p_memsz"])
        for segment in ELFFile(BytesIO(library)).iter_segments("PT_LOAD")
        if segment["p_flags"] & P_FLAGS.PF_W
    )
