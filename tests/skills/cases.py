"""The code cases of the methods: all of them under `make test-skills`, a few in every run."""

import os

from kernelmill.skills.library import Library, load_library
from kernelmill.skills.method_files import CodeCase, MethodFile

LIBRARY: Library = load_library()
ALL = os.environ.get("KERNELMILL_SKILLS") == "all"
_ALWAYS = {
    "share-the-outer-loop",
    "keep-the-row",
    "place-the-operand",
    "keep-the-row-in-registers",
    "finish-each-row-first",
}
"""A few for every backend."""


def methods(backend: str) -> list[MethodFile]:
    chosen = set(LIBRARY.methods) if ALL else _ALWAYS
    found = [method for name, method in LIBRARY.methods.items() if name in chosen]
    return [method for method in found if backend in method.front.backends]


def code_cases(backend: str) -> list[CodeCase]:
    return [case for method in methods(backend) for case in method.cases if case.backend == backend]
