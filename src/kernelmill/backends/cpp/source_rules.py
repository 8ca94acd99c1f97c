"""Static rules on C++ text: tokens and includes that no compute kernel needs.

They read the sources for quick and exact advice, and the preprocessed text for what macros hide.
Every pattern takes time in proportion to the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.support.preprocessing import PreprocessedSource

_TOKEN = re.compile(
    r"""(?xs)
      (?P<blank>
          //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z)
        | (?:u8|[uUL])?R"(?P<d>[^()\\\s]{0,16})\((?:.*?\)(?P=d)"|.*\Z)
        | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    | "(?:\\.|[^"\\\n])* | '(?:\\.|[^'\\\n])*   # a quote that nothing closes
    | [A-Za-z_]\w* | \.?\d(?:'\w|[eEpP][+-]|[\w.])*   # 1'000 holds no character literal
    """
)
_OPENMP = "use OpenMP for parallel work"
_NOT_IN_A_KERNEL = "a kernel computes from its arguments and writes its outputs, no more"


class TokenRule(NamedTuple):
    """A pattern that must not occur outside comments and strings."""

    name: str
    pattern: str
    instead: str


_TOKEN_RULES = (
    TokenRule("assembly", r"\b(?:asm|__asm__|__asm)\b", "use intrinsics or vector extensions"),
    TokenRule("threads", r"\bstd\s*::\s*(?:thread|jthread|async)\b|\bpthread_create\b", _OPENMP),
    TokenRule("dynamic-loading",
              r"\b(?:dlopen|dlsym|dlmopen|dl_iterate_phdr|_r_debug)\b",
              "call only functions of the candidate and of the standard library"),
    TokenRule("processes",
              r"\b(?:fork|vfork|execv\w*|execl\w*|posix_spawn\w*|popen|ptrace|prctl|syscall"
              r"|waitpid|kill|raise|signal|sigaction|_exit|_Exit|quick_exit|atexit)\s*\(|\bstd\s*::\s*"
              r"(?:system|exit|atexit|signal|raise)\b|(?<![\w.>])system\s*\(", _NOT_IN_A_KERNEL),
    TokenRule("files",
              r"\b(?:fopen|freopen|fdopen|openat|mmap|mprotect|shm_open|memfd_create)\s*\("
              r"|\bstd\s*::\s*(?:i|o)?fstream\b|\bstd\s*::\s*filesystem\b", _NOT_IN_A_KERNEL),
    TokenRule("network", r"\b(?:socket|connect|sendto|recvfrom)\s*\(", _NOT_IN_A_KERNEL),
    TokenRule("environment", r"\b(?:getenv|secure_getenv|setenv|environ)\b", _NOT_IN_A_KERNEL),
    TokenRule("function-pointer",
              r"\(\s*(?:\w+\s*::\s*)*[*&]\s*(?:\w+\s*)?\)\s*\((?!\s*\*)|\badd_pointer\w*"
              r"|\bdecltype\s*\(\s*&(?!\s*(?:std\s*::\s*)?free\b)",
              "call functions by name; use templates or lambdas to choose between your own"),
    TokenRule("built-where",
              r"\b(?:__DATE__|__TIME__|__TIMESTAMP__|__(?:BASE_)?FILE(?:_NAME)?__|__has_include\w*"
              r"|__has_embed|__builtin_(?:FILE|LINE|FUNCTION|source_location)|source_location)\b",
              "compute the same wherever and whenever it is built"),
    TokenRule("clock",
              r"\b\w*rdtscp?\w*|\b\w*rdpmc\w*|\bclock_gettime\b|\bstd\s*::\s*chrono\b"
              r"|\bgettimeofday\b|\bomp_get_wtime\b|\bomp_get_wtick\b", "a kernel needs no clock"),
    TokenRule("constructor",
              r"(?:\b__attribute(?:__)?\b|\[\[)[^;{}]{0,300}?"
              r"\b(?:__)?(?:constructor|destructor|ifunc|init_priority)(?:__)?\b",
              "do all work inside the functions that model.py calls"),
    TokenRule("linkage",
              r"\b(?:weakref|__weakref__|redefine_extname)\b|\bpragma\s+weak\b"
              r"|\b(?:alias|__alias__|symver|__symver__)\s?\(\s{2,400}\)",
              "call functions by their own names"),
    TokenRule("run-time-name",
              r"\b(?:(?:__builtin_)?GOMP_\w+|__kmpc_\w+|__cxa_\w+|_Unwind_\w+|__dso_handle|__bss_start"
              r"|_edata|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|__TMC_END__|__builtin_thread_pointer"
              r"|__builtin_(?:eh_return\w*|unwind_init|setjmp|longjmp|apply\w*|return(?:_address)?"
              r"|frame_address|\w+_return_addr|call_with_static_chain))\b",
              "leave the names of the compiler's run time to the compiler: use #pragma omp, throw "
              "and catch"),
    TokenRule("vendor-library",
              r"\b(?:cblas_\w+|mkl_\w+|dnnl\w*|openblas\w*|LAPACKE_\w+|[sd]gemm_)\b",
              "write the contraction yourself"),
)  # fmt: skip
_FRAMEWORK_RULE = TokenRule(
    "framework", r"\b(?:at|torch|c10)\s*::|\bATen\b", "use raw pointers and sizes: no framework"
)  # fmt: skip
_INCLUDE = re.compile(r"^[^\S\n]*#[^\S\n]*include[^\S\n]*([<\"])([^>\"\n]*)[>\"]", re.MULTILINE)
_SPLICE = re.compile(r"\\[^\S\n]*\n")
_FORGED_LINE = re.compile(
    r"(?:^|\*/)[^\S\n]*(?:\#|%:|\?\?=)[^\S\n]*(?:line\b|\d|/\*)", re.MULTILINE
)
"""A directive that renames lines, and so could pass a candidate's line off as a system header's. It
counts in comments, too: where a comment ends is for the compiler to say."""
_HEADER_NAME = re.compile(
    r"^/.*/include/(?:[^/]+-linux-[^/]+/)?(?:c\+\+/[^/]+/)?(?:[^/]+-linux-[^/]+/)?(?P<name>.+)$"
)
_MOST_FINDINGS = 40
_FOREIGN_INCLUDE = re.compile(
    r"^(?:torch|ATen|c10|pybind11|Python\.h|mkl|cblas|dnnl|oneapi|unistd\.h|sys/|dlfcn\.h|link\.h"
    r"|thread$|chrono$|ctime$|time\.h|pthread\.h|fstream|filesystem|signal\.h|csignal|spawn\.h|fcntl\.h|netdb\.h|arpa/"
    r"|elf\.h|execinfo\.h|ucontext\.h)"
)

_ALLOWED_FRAMEWORK = frozenset(
    """Tensor TensorOptions empty empty_like zeros zeros_like kFloat kFloat32 kFloat64 kDouble
    kInt kInt32 kInt64 kLong kHalf kBFloat16 kBool kCPU ScalarType IntArrayRef ArrayRef dtype
    device optional nullopt Half BFloat16 get_num_threads parallel_for IntList TensorList""".split()
)


class _Code(NamedTuple):
    """Text without comments, and where its lines come from."""

    text: str
    line_starts: list[int]
    places: list[str]

    def place(self, position: int) -> str:
        return self.places[bisect_right(self.line_starts, position) - 1]


def _code(text: str, places: list[str]) -> _Code:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return _Code(text, starts, places)


def _code_of_file(text: str, file: str) -> _Code:
    return _code(text, [f"{file}:{number + 1}" for number in range(text.count("\n") + 1)])


def check_text(
    text: str,
    file: str,
    framework_allowed: bool = False,
    rules: tuple[TokenRule, ...] = (),
    assembly_allowed: bool = False,
) -> list[RuleFinding]:
    """The first findings in one file. A backend adds its own `rules`.

    `framework_allowed` permits torch's headers and its allocation of tensors, nothing else of it.
    """
    code = _code_of_file(without_comments(text), file)
    chosen = _chosen(rules, assembly_allowed, framework_allowed)

    def findings() -> Iterator[RuleFinding]:
        yield from _check_tokens(code, chosen)
        if framework_allowed:
            yield from _check_framework(code)
        yield from _check_includes(text, file, framework_allowed)
        yield from _check_line_names(text, file)

    return list(islice(findings(), _MOST_FINDINGS))


def check_preprocessed(
    source: PreprocessedSource,
    framework_allowed: bool = False,
    rules: tuple[TokenRule, ...] = (),
    assembly_allowed: bool = False,
) -> list[RuleFinding]:
    """The first findings in what a candidate's files become, at their places in these files.

    Framework names are not looked for where the framework is allowed: its macros expand to them.
    """
    text = "\n".join(line.text.replace("\n", " ") for line in source.lines)
    code = _code(without_comments(text), [f"{line.file}:{line.line}" for line in source.lines])

    def findings() -> Iterator[RuleFinding]:
        for include in source.includes:
            yield from _check_header(include.header, f"{include.file}:{include.line}",
                                     framework_allowed)  # fmt: skip
        if source.lines:
            yield from _check_tokens(code, _chosen(rules, assembly_allowed, framework_allowed))

    return list(islice(findings(), _MOST_FINDINGS))


def without_comments(text: str) -> str:
    """The text with comments and strings replaced by spaces; line numbers stay."""
    return _TOKEN.sub(lambda match: _blank(match["blank"]) if match["blank"] else match[0], text)


def _chosen(
    rules: tuple[TokenRule, ...], assembly_allowed: bool, framework_allowed: bool
) -> tuple[TokenRule, ...]:
    common = (r for r in _TOKEN_RULES if not (assembly_allowed and r.name == "assembly"))
    return (*common, *rules, *(() if framework_allowed else (_FRAMEWORK_RULE,)))


def _check_tokens(code: _Code, rules: tuple[TokenRule, ...]) -> Iterator[RuleFinding]:
    for rule in rules:
        for match in re.finditer(rule.pattern, code.text, re.MULTILINE):
            word = " ".join(match[0].rstrip("(").split())
            yield RuleFinding(rule.name, code.place(match.start()), f"uses {word}", rule.instead)


def _check_framework(code: _Code) -> Iterator[RuleFinding]:
    for match in re.finditer(r"\b(?:at|torch|c10)\s*::\s*(\w+)", code.text):
        if match[1] not in _ALLOWED_FRAMEWORK:
            yield RuleFinding(
                "framework", code.place(match.start()), f"uses {match[0]}",
                "allocate with the framework, compute in your own code",
            )  # fmt: skip


def _check_includes(text: str, file: str, framework_allowed: bool) -> Iterator[RuleFinding]:
    lines = _code_of_file(text, file)
    for match in _INCLUDE.finditer(text):
        name = match[2].strip()
        outside = name.startswith("/") or ".." in name.split("/")
        yield from _check_name(name, lines.place(match.start()), outside, framework_allowed)


def _check_header(path: str, place: str, framework_allowed: bool) -> Iterator[RuleFinding]:
    """A header as the compiler found it: the name below its include folder is what counts."""
    header = _HEADER_NAME.match(path)
    name = header["name"] if header else path
    yield from _check_name(name, place, header is None, framework_allowed)


def _check_name(
    name: str, place: str, outside: bool, framework_allowed: bool
) -> Iterator[RuleFinding]:
    if framework_allowed and name.startswith(("torch/", "ATen/", "c10/", "pybind11/")):
        return
    if outside or _FOREIGN_INCLUDE.match(name):
        yield RuleFinding(
            "include", place, f"includes {name}",
            "include the C++ standard library, <immintrin.h>, <omp.h> or your own headers",
        )  # fmt: skip


def _check_line_names(text: str, file: str) -> Iterator[RuleFinding]:
    logical = _SPLICE.sub("", text.removeprefix("\ufeff").replace("\r", "\n").replace("\0", " "))
    if match := _FORGED_LINE.search(logical):
        yield RuleFinding(
            "line-names", file, f"has a line that begins with {' '.join(match[0].split())}",
            "leave the numbers of lines alone",
        )  # fmt: skip


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
