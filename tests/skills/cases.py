"""The code cases of the methods: all of them under `make test-skills`, a few in every run."""

import os
from collections.abc import Iterable

from kernelmill.skills.library import Library, load_library
from kernelmill.skills.method_files import CodeCase, WrittenMethod

LIBRARY: Library = load_library()
ALL = os.environ.get("KERNELMILL_SKILLS") == "all"
_ALWAYS = {"share-the-outer-loop", "keep-the-row", "place-the-operand"}


def methods(backend: str, always: Iterable[str] = _ALWAYS) -> list[WrittenMethod]:
    chosen = set(LIBRARY.methods) if ALL else set(always)
    found = [method for name, method in LIBRARY.methods.items() if name in chosen]
    return [method for method in found if backend in method.front.backends]


def code_cases(backend: str, always: Iterable[str] = _ALWAYS) -> list[CodeCase]:
    chosen = methods(backend, always)
    return [case for method in chosen for case in method.cases if case.backend == backend]
