"""Variables of a candidate's own libraries, which no call may change.

What a call leaves there could decide what a later call does, however long after the verdict.
"""

from collections.abc import Mapping
from itertools import pairwise

from kernelmill.sandbox import ConfinedProcess

_MOST_BYTES = 64 << 20


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
    """Writable regions of the libraries, and the anonymous memory right behind one, which holds
    the variables that begin at zero."""
    regions = process.regions()
    own = [region.path.rpartition("/")[2] in artefacts for region in regions]
    for number, (before, region) in enumerate(pairwise(regions), 1):
        if own[number - 1] and not region.path and region.start == before.end:
            own[number] = True
    spans = [
        (region.start, region.end - region.start)
        for region, is_own in zip(regions, own, strict=True)
        if is_own and region.writable
    ]
    return spans if sum(size for _, size in spans) <= _MOST_BYTES else []
