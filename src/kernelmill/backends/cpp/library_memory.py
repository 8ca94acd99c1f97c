"""Rules on the memory of a library: what is executable, and what no look from outside finds."""

import io
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from kernelmill.backends.base import MOST_VARIABLE_BYTES

_EXECUTE, _WRITE = 1, 2
_SECTION_WRITE, _SECTION_EXECUTE = 1, 4
_MOST_NAME = 80
MEMORY_RULES = f"thread_local, {MOST_VARIABLE_BYTES}"
"""What a build was held to since these rules exist: others are not taken from a cache."""


def memory_problems(library: bytes) -> list[str]:
    """What is wrong with the memory of a library, one sentence each."""
    try:
        return list(_problems(ELFFile(io.BytesIO(library))))
    except (ELFError, ArithmeticError, LookupError, ValueError) as error:
        return [f"the library cannot be read: {error}"]


def thread_local_problems(library: bytes) -> list[str]:
    """Variables that every thread has to itself: no look from outside finds them."""
    try:
        segments = ELFFile(io.BytesIO(library)).iter_segments("PT_TLS")
        return ["it has thread_local variables" for _ in segments]
    except (ELFError, ArithmeticError, LookupError, ValueError) as error:
        return [f"the library cannot be read: {error}"]


def _problems(elf: ELFFile) -> Iterator[str]:
    for segment in elf.iter_segments():
        executable = segment["p_flags"] & _EXECUTE
        if segment["p_type"] == "PT_GNU_STACK" and executable:
            yield "its stack is executable"
        if segment["p_type"] == "PT_LOAD" and executable and segment["p_flags"] & _WRITE:
            yield "it has memory that is writable and executable"
    if not any(segment["p_type"] == "PT_GNU_STACK" for segment in elf.iter_segments()):
        yield "its stack is executable"
    variables = (s for s in elf.iter_segments("PT_LOAD") if s["p_flags"] & _WRITE)
    if sum(segment["p_memsz"] for segment in variables) > MOST_VARIABLE_BYTES:
        yield f"its variables take more than {MOST_VARIABLE_BYTES >> 20} MiB"
    yield from _section_problems(elf)


def _section_problems(elf: ELFFile) -> Iterator[str]:
    executable = set()
    for number, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & _SECTION_EXECUTE:
            executable.add(number)
            if section["sh_flags"] & _SECTION_WRITE:
                yield f"section {section.name[:_MOST_NAME]} is writable and executable"
    symbols = elf.get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        return
    for symbol in symbols.iter_symbols():
        if symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_shndx"] in executable:
            yield f"{symbol.name[:_MOST_NAME]} is data among instructions"
