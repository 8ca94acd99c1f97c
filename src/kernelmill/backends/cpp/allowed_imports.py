"""The names that a built library may import, one by one, and what to use in place of others."""

import functools
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


@functools.cache
def _read(file: str) -> _ImportList:
    return msgspec.convert(tomllib.loads((_FOLDER / file).read_text()), _ImportList)


@functools.cache
def _names(file: str) -> frozenset[str]:
    return frozenset(name for group in _read(file).group for name in group.names.split())


def may_import(symbol: str) -> bool:
    """Whether plain C++ may import a symbol."""
    return symbol in _names("imports.toml")


def extension_may_import(symbol: str) -> bool:
    """Whether an extension of the framework may: of its operators, those that allocate."""
    if operator := _FRAMEWORK_OPERATOR.match(symbol):
        return operator["rest"][: int(operator["length"])] in _ALLOWED_OPERATORS
    if _FRAMEWORK.match(symbol):
        return not _FRAMEWORK_KERNELS.search(symbol)
    return may_import(symbol) or symbol in _names("extension_imports.toml")


def advice_on(symbol: str) -> str:
    """What to use in place of a symbol, by its demangled name."""
    for advice in _read("imports.toml").advice:
        if re.search(advice.pattern, symbol):
            return advice.instead
    return _OTHERWISE
