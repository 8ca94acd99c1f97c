"""Memory files that hold tensors: written once, sealed, then shared between processes."""

import fcntl
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelmill.records.tensors import Layout, as_array

_SEAL_FUTURE_WRITE = 0x0010
_LINE_BYTES = 64
FILE_NAME = "kernelmill-tensors"
BLOB_NAME = f"memfd:{FILE_NAME}"
"""Name of such a file's mappings in /proc/PID/maps."""


class Blob:
    """A memory file with the layout of the tensors in it. Owns the file descriptor."""

    def __init__(self, file: int, layout: Layout, writable: bool = False) -> None:
        self.file = file
        self.layout = layout
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self._map = mmap.mmap(file, layout.bytes, mmap.MAP_SHARED, access)

    @classmethod
    def received(cls, file: int, layout: Layout) -> "Blob":
        """Take over a file from an untrusted writer and seal it against changes.

        Raises OSError where the file is smaller than its layout or still mapped for writing.
        """
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
        if os.fstat(file).st_size < layout.bytes:
            raise OSError("the file is smaller than its layout")
        last = max((t.offset + t.bytes for t in layout.tensors), default=0)
        if last > layout.bytes or min((t.offset for t in layout.tensors), default=0) < 0:
            raise OSError("the layout reaches beyond its file")
        return cls(file, layout)

    @classmethod
    def create(cls, layout: Layout) -> "Blob":
        """A new file that only this mapping can write; other holders of the file may read it.

        Between its tensors is rubbish.
        """
        file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(file, layout.bytes)
        blob = cls(file, layout, writable=True)
        for gap in layout.gaps():
            blob._map[gap] = os.urandom(gap.stop - gap.start)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | _SEAL_FUTURE_WRITE
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
        return blob

    def array(self, index: int) -> npt.NDArray[Any]:
        tensor = self.layout.tensors[index]
        return as_array(self._map, tensor.dtype, tensor.shape, tensor.offset)

    def read_through(self) -> None:
        """Read a word of every cache line."""
        np.frombuffer(self._map, np.uint64, self.layout.bytes // 8)[:: _LINE_BYTES // 8].sum()

    def close(self) -> None:
        """Close the file; arrays still in use keep the memory alive."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def memory_file(content: bytes) -> int:
    """A new memory file with this content, positioned at its start."""
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file
