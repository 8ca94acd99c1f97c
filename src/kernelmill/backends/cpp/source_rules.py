"""Static rules on C++ text: tokens and includes that no compute kernel needs."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kernelmill.backends.base import RuleFinding

_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<d>[^()\\\s]{0,16})\((?:.*?\)(?P=d)"|.*\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
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
              r"\(\s*(?:\w+\s*::\s*)*[*&]\s*\w*\s*\)\s*\((?!\s*\*)|\badd_pointer\w*"
              r"|\bdecltype\s*\(\s*&(?!\s*(?:std\s*::\s*)?free\b)",
              "call functions by name; use templates or lambdas to choose between your own"),
    TokenRule("clock",
              r"\b\w*rdtscp?\w*|\b\w*rdpmc\w*|\bclock_gettime\b|\bstd\s*::\s*chrono\b"
              r"|\bgettimeofday\b|\bomp_get_wtime\b|\bomp_get_wtick\b", "a kernel needs no clock"),
    TokenRule("vendor-library",
              r"\b(?:cblas_\w+|mkl_\w+|dnnl\w*|openblas\w*|LAPACKE_\w+|[sd]gemm_)\b",
              "write the contraction yourself"),
)  # fmt: skip
_FRAMEWORK_RULE = TokenRule(
    "framework", r"\b(?:at|torch|c10)\s*::|\bATen\b", "use raw pointers and sizes: no framework"
)  # fmt: skip
_INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]*)[>\"]", re.MULTILINE)
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


def check_text(
    text: str,
    file: str,
    framework_allowed: bool = False,
    rules: tuple[TokenRule, ...] = (),
    assembly_allowed: bool = False,
) -> list[RuleFinding]:
    """All findings in one file. A backend adds its own `rules`.

    `framework_allowed` permits torch's headers and its allocation of tensors, nothing else of it.
    """
    common = (r for r in _TOKEN_RULES if not (assembly_allowed and r.name == "assembly"))
    chosen = (*common, *rules, *(() if framework_allowed else (_FRAMEWORK_RULE,)))
    return list(_check(text, file, framework_allowed, chosen))


def without_comments(text: str) -> str:
    """The text with comments and strings replaced by spaces; line numbers stay."""
    return _COMMENT_OR_STRING.sub(lambda match: _blank(match.group()), text)


def _check(
    text: str, file: str, framework_allowed: bool, rules: tuple[TokenRule, ...]
) -> Iterator[RuleFinding]:
    code = without_comments(text)
    for rule in rules:
        for match in re.finditer(rule.pattern, code, re.MULTILINE):
            word = " ".join(match.group().rstrip("(").split())
            place = _place(file, code, match.start())
            yield RuleFinding(rule.name, place, f"uses {word}", rule.instead)
    if framework_allowed:
        for match in re.finditer(r"\b(?:at|torch|c10)\s*::\s*(\w+)", code):
            if match.group(1) not in _ALLOWED_FRAMEWORK:
                yield RuleFinding(
                    "framework", _place(file, code, match.start()), f"uses {match.group()}",
                    "allocate with the framework, compute in your own code",
                )  # fmt: skip
    yield from _check_includes(text, file, framework_allowed)


def _check_includes(text: str, file: str, framework_allowed: bool) -> Iterator[RuleFinding]:
    for match in _INCLUDE.finditer(text):
        name = match.group(2).strip()
        framework = name.startswith(("torch/", "ATen/", "c10/", "pybind11/"))
        if framework and framework_allowed:
            continue
        outside = name.startswith("/") or ".." in name.split("/")
        if outside or _FOREIGN_INCLUDE.match(name):
            yield RuleFinding(
                "include", _place(file, text, match.start()), f"includes {name}",
                "include the C++ standard library, <immintrin.h>, <omp.h> or your own headers",
            )  # fmt: skip


def _blank(text: str) -> str:
    return "".join("\n" if c == "\n" else " " for c in text)


def _place(file: str, text: str, position: int) -> str:
    return f"{file}:{text.count(chr(10), 0, position) + 1}"
