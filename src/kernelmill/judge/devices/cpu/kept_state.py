"""Variables of a candidate's own libraries, which no call may change.

What a call leaves there could decide what a later call does, however long after the verdict.
"""

from collections.abc import Mapping
from io import BytesIO

from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

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
    """Where the variables of the libraries are: what each maps for writing, by its own headers.

    The memory map alone does not tell: other memory may lie right behind a library.
    """
    spans = []
    for region in process.regions():
        name = region.path.rpartition("/")[2]
        if region.offset == 0 and name in artefacts:
            spans += [
                (region.start + segment["p_vaddr"], segment["p_memsz"])
                for segment in ELFFile(BytesIO(artefacts[name])).iter_segments("PT_LOAD")
                if segment["p_flags"] & P_FLAGS.PF_W
            ]
    return spans if sum(size for _, size in spans) <= _MOST_BYTES else []
