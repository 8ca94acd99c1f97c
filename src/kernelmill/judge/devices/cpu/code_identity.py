"""The owner of code that a runner executes, by the identity of files and not by their names.

The libraries that no kernel is blamed for are those that a sandbox has mapped before any candidate
is loaded, known by device and inode. Of the framework only the code of the calls that a candidate
may make is neutral: allocation, views, zero fill and copies.
"""

import os
import re
import struct
import time
from typing import NamedTuple

import numpy as np

from kernelmill.sandbox import MemoryRegion, Policy, Sandbox, Zygote
from kernelmill.sandbox.channel import close_files

ALLOWED_CALLS = "kernelmill.judge.devices.cpu.allowed_calls"
"""The module with the program that makes allowed calls of the framework, over and over."""
_NEUTRAL = re.compile(
    r"/(?:libgomp|libiomp5?|libomp|libc|libm|libmvec|libstdc\+\+|libgcc_s|ld-linux|libpthread|libdl"
    r"|librt|libpython|python3?|libffi|_ctypes|_struct|math|select|_socket|_json|_core"
    r"|libtorch_python)(?:[-.0-9][^/]*)?$"
)
"""Python itself and the run-time libraries that every kernel may use."""
_VDSO = "[vdso]"
_PAGE = os.sysconf("SC_PAGESIZE")
_PAGE_IS_FILE, _PAGE_IS_SWAPPED, _PAGE_IS_PRESENT = 1 << 61, 1 << 62, 1 << 63
_PAUSES = (0.0, 0.0004)
_LOOKS_PER_CALL = 24
_MOST_REQUESTS = 8
_SECONDS = 20.0


class CodeFile(NamedTuple):
    device: str
    inode: int


class CodePage(NamedTuple):
    file: CodeFile
    number: int


class KnownCode(NamedTuple):
    """Code that was there before a candidate, and that no candidate is blamed for."""

    files: frozenset[CodeFile]
    pages: frozenset[CodePage]
    """Pages of other libraries in which the framework's allowed calls spend their time."""

    def is_neutral(self, region: MemoryRegion) -> bool:
        """Whether it is Python or a run-time library."""
        return region.path == _VDSO if region.inode == 0 else _file(region) in self.files

    def is_framework_call(self, region: MemoryRegion, address: int) -> bool:
        """Whether one of the framework's allowed calls works there: it fills or copies memory."""
        return region.inode != 0 and _page(region, address) in self.pages


def learn_known_code(zygote: Zygote, threads: int) -> KnownCode:
    """Look at a sandbox that never holds a candidate while it makes the allowed calls.

    Raises SandboxFailure.
    """
    entry = f"{ALLOWED_CALLS}:run_allowed_calls"
    with zygote.spawn(entry, {"threads": threads}, Policy()) as sandbox:
        calls: list[str] = sandbox.request({"do": "list"}, _SECONDS).body["calls"]
        regions = [region for region in sandbox.regions(executable=True) if region.inode]
        files = frozenset(_file(region) for region in regions if _NEUTRAL.search(region.path))
        rng = np.random.default_rng()
        pages = {page for call in calls for page in _pages_of_call(sandbox, call, regions, rng)}
    return KnownCode(files, frozenset(page for page in pages if page.file not in files))


def _pages_of_call(
    sandbox: Sandbox, call: str, regions: list[MemoryRegion], rng: np.random.Generator
) -> set[CodePage]:
    """The pages in which the sandbox was seen while it repeated one call."""
    addresses: list[int] = []
    for _ in range(_MOST_REQUESTS):
        if len(addresses) >= _LOOKS_PER_CALL:
            break
        sandbox.send({"do": call})
        addresses += _addresses_until_answer(sandbox, rng)
        close_files(sandbox.receive(_SECONDS).files)
    return {_page(r, a) for a in addresses for r in regions if r.start <= a < r.end}


def _addresses_until_answer(sandbox: Sandbox, rng: np.random.Generator) -> list[int]:
    found: list[int] = []
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        time.sleep(rng.uniform(*_PAUSES))
        sandbox.stop()
        answered = sandbox.has_answered()
        if not answered:
            found += _running_at(sandbox)
        sandbox.resume()
        if answered:
            break
    return found


def _running_at(sandbox: Sandbox) -> list[int]:
    """The addresses at which threads of a stopped sandbox compute."""
    found = []
    for thread in sandbox.threads():
        try:
            with open(f"/proc/{sandbox.pid}/task/{thread}/syscall") as state:
                fields = state.read().split()
        except OSError:
            continue
        if fields[:1] == ["-1"]:
            found.append(int(fields[2], 16))
    return found


def is_page_of_its_file(pid: int, address: int) -> bool:
    """Whether the page at an address still is the file's, and no copy that was written to."""
    try:
        with open(f"/proc/{pid}/pagemap", "rb") as pages:
            pages.seek(address // _PAGE * 8)
            (entry,) = struct.unpack("=Q", pages.read(8))
    except (OSError, struct.error):
        return False
    if entry & _PAGE_IS_SWAPPED:
        return False
    return bool(entry & _PAGE_IS_FILE) or not entry & _PAGE_IS_PRESENT


def _file(region: MemoryRegion) -> CodeFile:
    return CodeFile(region.device, region.inode)


def _page(region: MemoryRegion, address: int) -> CodePage:
    return CodePage(_file(region), (address - region.start + region.offset) // _PAGE)
