"""Compilation in sandboxes, for every backend with a compiler."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kernelmill import __version__
from kernelmill.backends.base import BuildFailed, BuildInterrupted, Requirement
from kernelmill.backends.support import build_cache
from kernelmill.backends.support.diagnostics import blames_source, first_errors
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxFailure,
    SandboxLimitExceeded,
    SandboxTimeout,
    Zygote,
)

COMPILER_PROGRAMS = "kernelmill.backends.support.compiling"
"""Module of the programs that compile in a sandbox: one of a backend's `zygote_modules`."""
BUILD_SECONDS = 120.0
_MAX_ARTEFACT_BYTES = 64 << 20


class Compilation(NamedTuple):
    """One run of a compiler that makes one library."""

    files: dict[str, str]
    command: tuple[str, ...]
    library: str
    """File that the command leaves in its folder."""
    disassembled: bool = False
    """Whether to look for instructions that no kernel needs."""

    def key(self, *versions: str) -> str:
        """Key of the build cache, given the versions of all else that the library depends on."""
        contents = (part for item in self.files.items() for part in item)
        return build_cache.cache_key((__version__, *versions, *self.command, *contents))


class Compiled(NamedTuple):
    library: bytes
    output: str
    """What the compiler printed."""
    instructions: tuple[str, ...]
    """Instructions that no kernel needs, if they were looked for."""


def compile_library(compilation: Compilation, zygote: Zygote) -> Compiled:
    """Run a compiler in a sandbox. Raises BuildFailed."""
    program, arguments = f"{COMPILER_PROGRAMS}:compile_sources", compilation._asdict()
    with build_sandbox(program, arguments, zygote) as sandbox:
        body, files = sandbox.request({"go": True}, BUILD_SECONDS)
        library = read_received(files)
    status, output = int(body["status"]), str(body["output"])
    if status != 0:
        raise compiler_failure(status, output)
    if library is None:
        most = _MAX_ARTEFACT_BYTES >> 20
        raise BuildFailed("limit", f"the built library is larger than {most} MiB", ())
    return Compiled(library, output, tuple(map(str, body["instructions"])))


def compiler_failure(status: int, output: str) -> BuildFailed:
    """The reason why a compiler left nothing behind, from its exit status and its output."""
    if status < 0:
        return BuildInterrupted("crash", f"the compiler was killed by signal {-status}", ())
    failure = BuildFailed if blames_source(output) else BuildInterrupted
    return failure("compile-error", "the compiler refuses the source", first_errors(output))


@contextmanager
def build_sandbox(
    entry: str,
    arguments: dict[str, Any],
    zygote: Zygote,
    seconds: float = BUILD_SECONDS,
    reading: tuple[str, ...] = (),
) -> Iterator[Sandbox]:
    """A sandbox that runs a build program ("module:function") and may read the given folders.

    Raises BuildInterrupted for every failure of the sandbox.
    """
    try:
        with zygote.spawn(entry, arguments, _policy(seconds, reading)) as sandbox:
            yield sandbox
    except SandboxTimeout as failure:
        raise BuildInterrupted(
            "time-out", f"not built within {failure.seconds:.0f} s", (), "simplify templates"
        ) from failure
    except SandboxLimitExceeded as failure:
        raise BuildInterrupted("limit", f"the build went {failure}", ()) from failure
    except SandboxFailure as failure:
        raise BuildInterrupted("crash", f"the build {failure}", ()) from failure


def read_received(files: list[int]) -> bytes | None:
    """The content of the last of the files, or None if it is too large. Closes all of them."""
    content = None
    for descriptor in files:
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(file.fileno()).st_size <= _MAX_ARTEFACT_BYTES:
                content = file.read()
    return content


def cache_requirement() -> Requirement:
    problem = build_cache.cache_problem()
    return Requirement(
        "build cache",
        "" if problem else str(build_cache.cache_folder()),
        f"make it writable, or set XDG_CACHE_HOME ({problem})",
    )


def _policy(seconds: float, reading: tuple[str, ...]) -> Policy:
    limits = ResourceLimits(memory_bytes=6 << 30, lifetime_seconds=seconds + 10, processes=64)
    return Policy(limits=limits, may_execute=True, reading=reading)
