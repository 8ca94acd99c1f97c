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
from kernelmill.backends.support.demangling import demangle

_ALLOWED = re.compile(
    r"""(?x)^(?:
      GOMP_\w+ | omp_\w+ | __kmpc_\w+                                  # OpenMP
    | _Zn[wa]\w* | _Zd[la]\w* | _ZSt\w* | _ZNSt\w* | _ZNKSt\w* | _ZTV\w* | _ZTI\w* | _ZTS\w*
    | __cxa_\w+ | __gxx_personality_v0 | _Unwind_Resume | __dynamic_cast  # C++ run time
    | _ITM_\w+ | __gmon_start__ | __stack_chk_fail | __tls_get_addr | __assert_fail | abort
    | __(?:mem|str|vs?n?|f|v?f)?printf_chk | __\w+_chk
    | (?:v?f?s?n?printf|puts|putchar|fputs|fputc|fwrite|fflush|stderr|stdout|perror)
    | (?:malloc|calloc|realloc|free|aligned_alloc|posix_memalign|memalign)
    | (?:mem(?:cpy|move|set|cmp|chr)|str(?:len|cmp|ncmp|cpy|ncpy|chr)|bcmp)
    | (?:qsort|bsearch|rand|srand|rand_r|sysconf|sched_getcpu|__errno_location)
    | pthread_(?:mutex|once|spin)\w*
    | (?:__)?(?:a?(?:sin|cos|tan)h?|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|logb|pow|sqrt
        |cbrt|hypot|erf|erfc|tgamma|lgamma|ceil|floor|trunc|round|lround|llround|rint|lrint|llrint
        |nearbyint|fma|fmod|remainder|fmin|fmax|fdim|fabs|copysign|ldexp|frexp|modf|scalbn|scalbln
        |ilogb|nextafter|nan|isnan|isinf|finite|signbit|fpclassify|sincos|signgam)[fl]?(?:_finite)?
    | _ZGV\w+                                                           # vector maths
    | __[a-z]+[sdt]f[0-9]? | __(?:mul|div|mod|udiv|umod)[a-z]{2}3 | __cpu_(?:model|indicator_init)
    )$"""
)
_REFUSED = re.compile(
    r"^_Z.*(?:thread|async|filebuf|fstream|filesystem|random_device|locale6global)"
)
_FRAMEWORK_OPERATOR = re.compile(r"^_ZNK?2at4_ops(?P<length>\d+)(?P<rest>.*)")
_ALLOWED_OPERATORS = frozenset(
    {"empty", "empty_like", "empty_memory_format", "empty_strided", "zeros", "zeros_like",
     "contiguous", "zero_"}
)  # fmt: skip
_REFUSED_WITH_FRAMEWORK = re.compile(
    r"""(?x)^(?:_ZNK?2at6native.* | .*[sdcz]gemm.* | (?:cblas|mkl|dnnl|openblas|LAPACKE)_.*
      | dl(?:open|sym|mopen|_iterate_phdr) | (?:v?fork|exec\w*|posix_spawn\w*|system|popen)
      | (?:socket|connect|ptrace|prctl|syscall|mmap|mprotect|memfd_create|shm_open)
      | open(?:at)?(?:64)?
      | (?:fopen(?:64)?|getenv|setenv|pthread_create|_?exit|_Exit|quick_exit|kill|raise|sigaction)
      )$"""
)


_RUN_TIME_DATA = re.compile(
    r"^(?:completed\.\d+|__dso_handle|__TMC_END__|_edata|_end|__bss_start|DW\.ref\..*|_ZTV.*|_ZTI.*"
    r"|__data_start|data_start|_ZTS.*|_ZStL8__ioinit|\.gomp_critical_.*|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|.*_array_entry|)$"
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
    state = [symbol.name for symbol in held if not _RUN_TIME_DATA.match(symbol.name)]
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
    refused = [
        symbol
        for symbol in symbols.imported
        if not _allowed(symbol, framework_allowed) and not allowance.imports.match(symbol)
    ]
    findings = [
        RuleFinding(
            "foreign-function", name, f"imports {symbol}",
            "compute in your own code, with the standard library's maths and OpenMP only",
        )
        for symbol in demangle(refused)
    ]  # fmt: skip
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


def _allowed(symbol: str, framework_allowed: bool) -> bool:
    if not framework_allowed:
        return bool(_ALLOWED.match(symbol)) and not _REFUSED.search(symbol)
    operator = _FRAMEWORK_OPERATOR.match(symbol)
    if operator:
        return operator["rest"][: int(operator["length"])] in _ALLOWED_OPERATORS
    return not _REFUSED_WITH_FRAMEWORK.match(symbol) and not _REFUSED.search(symbol)
