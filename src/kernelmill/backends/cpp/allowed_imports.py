"""The names that a built library may import, one by one, and what to use in place of others."""

import re
import tomllib
from pathlib import Path

import msgspec

_FOLDER = Path(__file__).parent
_OTHERWISE = "compute in your own code, with the standard library's maths and OpenMP only"
_FRAMEWORK = re.compile(r"^_Z(?:T[VISTHW]|G[VR])?(?:N[VK]*)?(?:2at|3c10|5torch|6caffe2|8pybind11)")
"""Names in the framework's own namespaces, which vary from version to version."""
_FRAMEWORK_OPERATOR = re.compile(r"^_ZNK?2at4_ops(?P<length>\d+)(?P<rest>.*)")
_ALLOWED_OPERATORS = frozenset(
    {"empty", "empty_like", "empty_memory_format", "empty_strided", "zeros", "zeros_like",
     "contiguous", "zero_"}
)  # fmt: skip
_FRAMEWORK_KERNELS = re.compile(r"^_ZNK?2at6native|gemm")


class _Group(msgspec.Struct, frozen=True):
    """Names that are allowed for the same reason."""

    what: str
    reason: str
    names: str


class _Advice(msgspec.Struct, frozen=True):
    """What to use in place of a name that is not allowed."""

    pattern: str
    instead: str


class _ImportList(msgspec.Struct, frozen=True):
    """A file of allowed names."""

    group: tuple[_Group, ...]
    advice: tuple[_Advice, ...] = ()


def _read(file: str) -> _ImportList:
    return msgspec.convert(tomllib.loads((_FOLDER / file).read_text()), _ImportList)


def _names(read: _ImportList) -> frozenset[str]:
    return frozenset(name for group in read.group for name in group.names.split())


# Read with the module: the sandbox in which the rules are applied reads no files.
_PLAIN = _read("imports.toml")
_PLAIN_NAMES = _names(_PLAIN)
_EXTENSION_NAMES = _names(_read("extension_imports.toml"))


def may_import(symbol: str) -> bool:
    """Whether plain C++ may import a symbol."""
    return symbol in _PLAIN_NAMES


def extension_may_import(symbol: str) -> bool:
    """Whether an extension of the framework may: of its operators, those that allocate."""
    if operator := _FRAMEWORK_OPERATOR.match(symbol):
        return operator["rest"][: int(operator["length"])] in _ALLOWED_OPERATORS
    if _FRAMEWORK.match(symbol):
        return not _FRAMEWORK_KERNELS.search(symbol)
    return may_import(symbol) or symbol in _EXTENSION_NAMES


def advice_on(symbol: str) -> str:
    """What to use in place of a symbol, by its demangled name."""
    for advice in _PLAIN.advice:
        if re.search(advice.pattern, symbol):
            return advice.instead
    return _OTHERWISE
