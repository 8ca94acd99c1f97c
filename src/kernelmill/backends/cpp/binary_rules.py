"""Static rules on a built library: what it may import, what it keeps, what runs when it is loaded.

Sources can hide a name from a rule on text; in the symbol table it is plain.
"""

import io
import re
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Symbol, SymbolTableSection

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.allowed_imports import advice_on, extension_may_import, may_import
from kernelmill.backends.support.demangling import demangle


class _RunTimeData(NamedTuple):
    """Writable memory that a compiler adds by itself, by its whole name and size."""

    name: re.Pattern[str]
    size: int


_RUN_TIME_DATA = tuple(
    _RunTimeData(re.compile(name), size)
    for name, size in (
        (r"completed\.0", 1),  # whether the library's end has run
        (r"__dso_handle|__TMC_END__|_edata|_end|__bss_start", 0),  # addresses
        (r"DW\.ref\.(?:__gxx_personality_v0|_ZTI\w+)", 8),  # what catch clauses refer to
        (r"\.gomp_critical_user_\w*", 8),  # the lock of a critical section
        (r"\.gomp_critical_user_[\w.]*\.var", 32),  # the same of Clang
        (r"_ZStL8__ioinit", 1),
    )
)
_STREAMS = "_ZStL8__ioinit"
"""What <iostream> puts into every file that includes it, with a constructor of a few lines."""
_STREAMS_CONSTRUCTOR = "_GLOBAL__sub_I_"
_MOST_STREAMS_BYTES = 64
_RUN_TIME_CODE = {".init_array": "frame_dummy", ".fini_array": "__do_global_dtors_aux"}
"""The compiler's own entry of each table of functions that run with the library's start and end."""
_MOST_LINKER_CODE = 32
"""Bytes of .init and .fini as every library has them."""
_LARGEST_GAP = 7
_HANDLE_BYTES = 8
"""Size of __dso_handle, which the compiler's run time does not tell."""
_INDIRECT = ("STT_GNU_IFUNC", "STT_LOOS")
_LINKER_SECTIONS = (".init_array", ".fini_array", ".data.rel.ro", ".dynamic", ".got", ".got.plt")
_SHF_WRITE = 1


class _Symbols(NamedTuple):
    imported: list[str]
    """All that is undefined: weak references are names of other libraries, too."""
    exported: set[str]
    state: list[str]
    """Variables that keep their values between calls."""
    unnamed_state: list[str]
    """Writable sections with memory that has no name."""
    started: list[str]
    """Functions that run when the library is loaded or unloaded, or that choose others then."""


def _read_symbols(library: bytes) -> _Symbols:
    elf = ELFFile(io.BytesIO(library))
    dynamic = _table(elf, ".dynsym")
    writable = {
        number
        for number, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & _SHF_WRITE and section.name not in _LINKER_SECTIONS
    }
    symbols = _table(elf, ".symtab")
    held = [s for s in symbols if s["st_shndx"] in writable and _type(s) not in _NO_MEMORY]
    state = [symbol.name for symbol in held if not _is_run_time_data(symbol)]
    return _Symbols(
        imported=sorted({s.name for s in dynamic if s.name and s["st_shndx"] == "SHN_UNDEF"}),
        exported={s.name for s in dynamic if s["st_shndx"] != "SHN_UNDEF"},
        state=state,
        unnamed_state=[
            elf.get_section(n).name for n in sorted(writable) if _has_unnamed(elf, n, held)
        ],
        started=[*_started(elf, symbols), *_indirect(symbols)],
    )


_NO_MEMORY = ("STT_SECTION", "STT_FILE")


def _type(symbol: Symbol) -> str:
    return str(symbol["st_info"]["type"])


def _is_run_time_data(symbol: Symbol) -> bool:
    return any(
        data.name.fullmatch(symbol.name) and data.size == symbol["st_size"]
        for data in _RUN_TIME_DATA
    )


def _held_bytes(symbol: Symbol) -> int:
    return _HANDLE_BYTES if symbol.name == "__dso_handle" else int(symbol["st_size"])


def _has_unnamed(elf: ELFFile, number: int, held: list[Symbol]) -> bool:
    """Whether a section has memory beyond its symbols and the gaps that alignment leaves."""
    sizes = [_held_bytes(s) for s in held if s["st_shndx"] == number and _held_bytes(s)]
    unnamed = elf.get_section(number)["sh_size"] - sum(sizes)
    return bool(unnamed > _LARGEST_GAP * len(sizes))


def _started(elf: ELFFile, symbols: list[Symbol]) -> list[str]:
    functions = {s["st_value"]: s for s in symbols if _type(s) == "STT_FUNC"}
    streams = any(symbol.name == _STREAMS for symbol in symbols)
    found = []
    for table, own in _RUN_TIME_CODE.items():
        for address in _entries(elf, table):
            function = functions.get(address)
            if function is None:
                found.append(f"code at {address:#x}")
            elif function.name != own and not (streams and _starts_streams(function)):
                found.append(function.name)
    for name in (".init", ".fini"):
        section = elf.get_section_by_name(name)
        if section is not None and section["sh_size"] > _MOST_LINKER_CODE:
            found.append(f"code in {name}")
    return found


def _starts_streams(function: Symbol) -> bool:
    short = function["st_size"] <= _MOST_STREAMS_BYTES
    return short and str(function.name).startswith(_STREAMS_CONSTRUCTOR)


def _entries(elf: ELFFile, table: str) -> list[int]:
    """Addresses of the functions in a table, which the loader fills in; 0 for those it looks up."""
    section, relocations = elf.get_section_by_name(table), elf.get_section_by_name(".rela.dyn")
    if section is None or not isinstance(relocations, RelocationSection):
        return []
    start, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
    return [
        0 if entry["r_info_sym"] else entry["r_addend"]
        for entry in relocations.iter_relocations()
        if start <= entry["r_offset"] < end
    ]


def _indirect(symbols: list[Symbol]) -> list[str]:
    return [s.name for s in symbols if _type(s) in _INDIRECT and s["st_shndx"] != "SHN_UNDEF"]


def _table(elf: ELFFile, name: str) -> list[Symbol]:
    section = elf.get_section_by_name(name)
    if not isinstance(section, SymbolTableSection):
        raise ELFError(f"it has no {name}")
    return list(section.iter_symbols())


class Allowance(NamedTuple):
    """Symbols that libraries of a tool chain may have in addition to those of plain C++."""

    imports: re.Pattern[str]
    data: re.Pattern[str]
    constructors: re.Pattern[str]


_NOTHING = re.compile(r"(?!)")
_NO_ALLOWANCE = Allowance(_NOTHING, _NOTHING, _NOTHING)


def check_library(
    library: bytes,
    name: str,
    called: set[str],
    framework_allowed: bool = False,
    allowance: Allowance = _NO_ALLOWANCE,
) -> list[RuleFinding]:
    """Findings in a built library, of which model.py calls the functions `called`."""
    try:
        symbols = _read_symbols(library)
    except (ELFError, ArithmeticError, LookupError, ValueError) as error:
        return [RuleFinding("not-a-library", name, f"cannot be read: {error}", "build plain C++")]
    allowed = extension_may_import if framework_allowed else may_import
    refused = [
        symbol
        for symbol in symbols.imported
        if not allowed(symbol) and not allowance.imports.match(symbol)
    ]
    findings = [
        RuleFinding("foreign-function", name, f"imports {symbol}", advice_on(symbol))
        for symbol in demangle(refused)
    ]
    findings += [
        RuleFinding("foreign-function", name, f"has no {symbol}", "call functions of your own only")
        for symbol in sorted(called - symbols.exported)
    ]
    if not framework_allowed:
        findings += [
            RuleFinding("state", name, f"keeps {symbol} between calls", "use local variables")
            for symbol in demangle([s for s in symbols.state if not allowance.data.match(s)])
        ]
        findings += [
            RuleFinding("state", name, f"keeps memory without a name in {section}",
                        "use local variables")
            for section in symbols.unnamed_state
        ]  # fmt: skip
        findings += [
            RuleFinding("constructor", name, f"runs {function} when it is loaded or unloaded",
                        "do all work inside the functions that model.py calls")
            for function in symbols.started
            if not allowance.constructors.match(function)
        ]  # fmt: skip
    return findings
