"""Compilation in sandboxes, for every backend with a compiler."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kernelmill import __version__
from kernelmill.backends.base import BuildFailed, BuildInterrupted, Requirement, RuleFinding
from kernelmill.backends.support import build_cache
from kernelmill.backends.support.diagnostics import blames_source, first_errors
from kernelmill.backends.support.machine_code import INSTRUCTION_RULES
from kernelmill.backends.support.preprocessing import PREPROCESSED_SUFFIX, PreprocessedSource
from kernelmill.records.verdict import LOST
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxCrashed,
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
    """The compiler and its options, without what it is to compile."""
    sources: tuple[str, ...]
    library: str
    """File that it makes in its folder."""
    link: tuple[str, ...] = ()
    """Options that follow the sources."""
    preprocessed: bool = True
    """Whether to preprocess first, and to compile what that gives."""
    extension: dict[str, str] = {}
    """Texts that are held to the rules for extensions of the framework, by the names they have in
    findings."""
    disassembled: bool = False
    """Whether to look for instructions that no kernel needs."""

    def key(self, *versions: str) -> str:
        """Key of the build cache, given the versions of all else that the library depends on."""
        contents = (part for item in self.files.items() for part in item)
        rules = INSTRUCTION_RULES if self.disassembled else ()
        words = (*self.command, *self.sources, *self.link, str(self.preprocessed), *rules)
        return build_cache.cache_key((__version__, *versions, *words, *contents))

    def arguments(self) -> dict[str, Any]:
        """The arguments of the program that compiles in a sandbox."""
        sources = [f"./{source}" for source in self.sources]
        suffix = PREPROCESSED_SUFFIX if self.preprocessed else ""
        compiled = [f"{source}{suffix}" for source in sources]
        return {
            "files": self.files,
            "preprocess": [*self.command] if self.preprocessed else [],
            "sources": sources,
            "compile": [*self.command, "-o", self.library, *compiled, *self.link],
            "library": self.library,
            "disassembled": self.disassembled,
            "extension": self.extension,
        }


class Compiled(msgspec.Struct, frozen=True):
    library: bytes
    output: str
    """What the compiler printed."""
    instructions: tuple[str, ...]
    """Instructions that no kernel needs, if they were looked for."""
    preprocessed: PreprocessedSource

    def pack(self) -> bytes:
        """All of it for the build cache."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def unpack(cls, content: bytes) -> "Compiled":
        return msgspec.msgpack.decode(content, type=cls)


def compile_library(compilation: Compilation, zygote: Zygote) -> Compiled:
    """Run a compiler in a sandbox. Raises BuildFailed."""
    program = f"{COMPILER_PROGRAMS}:compile_sources"
    reading = toolchain_folders(compilation.command[0])
    with build_sandbox(program, compilation.arguments(), zygote, reading=reading) as sandbox:
        body, files = sandbox.request({"go": True}, BUILD_SECONDS)
        results = [read_received([file]) for file in files]
    answer = _converted(body)
    if answer.findings:
        first = answer.findings[0]
        raise BuildFailed("integrity", str(first), tuple(map(str, answer.findings)))
    if answer.status != 0:
        raise compiler_failure(answer.status, answer.output)
    if len(results) != 2 or (library := results[0]) is None or (own := results[1]) is None:
        most = _MAX_ARTEFACT_BYTES >> 20
        raise BuildFailed("limit", f"the built library is larger than {most} MiB", ())
    return Compiled(library, answer.output, answer.instructions, unpack_source(own))


class _Answer(msgspec.Struct):
    """The answer of the program that compiles."""

    status: int
    output: str
    instructions: tuple[str, ...] = ()
    findings: tuple[RuleFinding, ...] = ()


def unpack_source(content: bytes) -> PreprocessedSource:
    """Preprocessed source from a sandbox. Raises BuildInterrupted."""
    try:
        return msgspec.msgpack.decode(content, type=PreprocessedSource)
    except msgspec.MsgspecError as error:
        raise BuildInterrupted(
            "crash", f"the build gave a malformed answer: {error}", ()
        ) from error


def _converted(body: dict[str, Any]) -> _Answer:
    try:
        return msgspec.convert(body, _Answer)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BuildInterrupted(
            "crash", f"the build gave a malformed answer: {error}", ()
        ) from error


def toolchain_folders(compiler: str) -> tuple[str, ...]:
    """Folders that a compiler outside of the system's needs: where it is installed.

    People's own folders are never among them.
    """
    prefix = Path(os.path.realpath(compiler)).parent.parent
    home = Path.home()
    if prefix == home or prefix in home.parents:
        return ()
    return (str(prefix),)


def compiler_failure(status: int, output: str) -> BuildFailed:
    """The reason why a compiler left nothing behind, from its exit status and its output."""
    if status < 0:
        kind = LOST if -status == signal.SIGKILL else "crash"
        return BuildInterrupted(kind, f"the compiler was killed by signal {-status}", ())
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
        lost = isinstance(failure, SandboxCrashed) and failure.killed_from_outside
        kind = LOST if lost else "crash"
        raise BuildInterrupted(kind, f"the build {failure}", ()) from failure


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
