"""Memory in large pages, which a fork copies hundreds at a time."""

import ctypes
from pathlib import Path

_LARGE = 1 << 21
_MADV_COLLAPSE = 25
_libc = ctypes.CDLL(None)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def use_large_pages() -> None:
    """Turn the memory that this process has written to into large pages, where the system can.

    What a fork writes to later is copied in small pages again.
    """
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, rights, _, _, inode, *_ = line.split()
        if rights != "rw-p" or inode != "0":
            continue
        start, end = (int(address, 16) for address in addresses.split("-"))
        first, last = -(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE
        if first < last:
            _libc.madvise(first, last - first, _MADV_COLLAPSE)
