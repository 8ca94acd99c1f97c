"""Memory of timed calls in a new process. Used inside sandboxes only.

A process that has just been forked gets its pages one fault at a time, inside the clock, where a
user's long-lived program has had them for long.
"""

import ctypes
import mmap
import os
import resource

_M_MMAP_MAX, _M_TRIM_THRESHOLD, _M_ARENA_MAX = -4, -1, -8
_MADV_HUGEPAGE, _MADV_POPULATE_WRITE = 14, 23
_HUGE_BYTES = 1 << 21
_LEAD_BYTES = 1 << 18
_PADDING = 1 << 14
"""Bytes around an allocation that the allocator may take for alignment."""
_LARGEST_HOLE = 1 << 26
_LINE_BYTES, _BLOCK_BYTES = 64, 1 << 16
_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]
_libc.sbrk.restype = ctypes.c_void_p
_libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def keep_one_heap() -> None:
    """Give all threads memory of one heap that never shrinks: what was freed is found again."""
    _libc.mallopt(_M_ARENA_MAX, 1)
    _libc.mallopt(_M_MMAP_MAX, 0)
    _libc.mallopt(_M_TRIM_THRESHOLD, -1)


def close_holes() -> None:
    """Take the free memory inside of the heap, never to use it: forks allocate behind its end.

    What a fork writes to first where its parent has written is copied page by page, and every such
    page interrupts the processors on which other threads of the fork run. The end is a little ahead
    of a large page, for what a fork allocates before it is asked to call the model.
    """
    size = _LARGEST_HOLE
    while size >= mmap.PAGESIZE:
        end = _libc.sbrk(0)
        address = _libc.malloc(size)
        if _libc.sbrk(0) != end:
            _libc.free(address)
            size //= 2
    last = _libc.malloc(mmap.PAGESIZE)
    _libc.malloc(-(last + mmap.PAGESIZE + _LEAD_BYTES) % _HUGE_BYTES)


def new_bytes() -> int:
    """Bytes of all pages that the process has got so far, one fault at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt * mmap.PAGESIZE


def populate(size: int, blocks: int) -> None:
    """Have pages for so many blocks of this size, as part of the free memory of the heap.

    They are large where the system has large ones: to get a small one takes microseconds.
    """
    whole = (size + _PADDING) * blocks + _HUGE_BYTES
    if size == 0 or not (address := _libc.malloc(whole)):
        return
    start = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (address + whole) // _HUGE_BYTES * _HUGE_BYTES - start
    _libc.madvise(start, length, _MADV_HUGEPAGE)
    _libc.madvise(start, length, _MADV_POPULATE_WRITE)
    _sprinkle_rubbish(start, length)
    _libc.free(address)


def _sprinkle_rubbish(start: int, size: int) -> None:
    """Not-a-number in a line of every block, by chance: new pages are zero, and so may answers be.

    It is without numpy, whose own memory a fork would have to copy for it.
    """
    blocks = range(start, start + size - _BLOCK_BYTES + 1, _BLOCK_BYTES)
    for block, chance in zip(blocks, os.urandom(len(blocks)), strict=True):
        _libc.memset(block + chance * _BLOCK_BYTES // 256, 0xFF, _LINE_BYTES)
