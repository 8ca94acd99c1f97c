"""The `rvv` backend: built by clang, run by an emulator, timed by exact instruction counts."""

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

import msgspec

from kernelmill import __version__
from kernelmill.backends.base import BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.baselines import write_baselines
from kernelmill.backends.modelled import ModelledBackend, Peak, Session, SessionOpener
from kernelmill.backends.rvv import toolchain
from kernelmill.backends.rvv.rules import (
    KERNEL_FILE,
    check_object,
    check_preprocessed_source,
    check_sources,
)
from kernelmill.backends.rvv.session import RVV_CLOCK_HERTZ, RVV_PROGRAMS, EmulatedSession
from kernelmill.backends.support.build_cache import build_once, cache_key
from kernelmill.backends.support.building import (
    BUILD_SECONDS,
    build_sandbox,
    cache_requirement,
    compiler_failure,
    read_received,
    unpack_source,
)
from kernelmill.backends.support.preprocessing import PreprocessedSource
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import InitArguments

_SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")
_BITS = {"vlen256": 256, "vlen128": 128, "vlen512": 512, "vlen1024": 1024}


class _BuildStep(NamedTuple):
    """One run of the tool chain in a sandbox."""

    files: dict[str, str]
    commands: list[list[str]]
    results: tuple[str, ...]
    """Files that the commands leave behind."""
    preprocess: tuple[str, ...] = ()
    """The compiler with its options, for sources that are preprocessed before the commands."""
    sources: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()
    """Files of the candidate."""


class _Program(msgspec.Struct, frozen=True):
    """A built kernel in the build cache."""

    program: bytes
    preprocessed: PreprocessedSource


class _StepDone(NamedTuple):
    results: list[bytes]
    preprocessed: PreprocessedSource


class RvvBackend(ModelledBackend):
    name = "rvv"
    title = "RISC-V with vectors (RVV 1.0), emulated and counted"
    entry = KERNEL_FILE
    scale = "emulated"
    zygote_modules = (RVV_PROGRAMS,)
    chips: ClassVar[tuple[str, ...]] = tuple(_BITS)
    clock = (
        "modelled cycles at 1 GHz, from exact counts of what the emulator executed: one for a "
        "scalar instruction, one for every register a vector instruction works on, one for every "
        "element of a strided or indexed access or an ordered sum"
    )
    baseline = "plain clang"

    @property
    def bits(self) -> int:
        """Width of a vector register."""
        return _BITS[self.chip]

    @property
    def peak(self) -> Peak:
        """Per cycle: one register of data, and one multiply-add in every lane."""
        return Peak(RVV_CLOCK_HERTZ * self.bits / 8, RVV_CLOCK_HERTZ * 2 * self.bits / 32)

    def requirements(self) -> list[Requirement]:
        libraries = str(toolchain.LIBRARIES) if toolchain.LIBRARIES.is_dir() else ""
        programs = (toolchain.COMPILER, toolchain.LINKER, toolchain.EMULATOR)
        return [
            *(Requirement(name, toolchain.version(name), toolchain.PACKAGES) for name in programs),
            Requirement("C++ library for riscv64", libraries, toolchain.PACKAGES),
            cache_requirement(),
        ]

    def toolchain(self) -> str:
        toolchain.demand(toolchain.COMPILER, toolchain.EMULATOR)
        return f"{toolchain.version(toolchain.COMPILER)}, {self._emulator}"

    @property
    def _emulator(self) -> str:
        """Version of the emulator without that of the distribution, and its vector length."""
        version = toolchain.version(toolchain.EMULATOR).partition(" (")[0]
        return f"{version}, VLEN {self.bits}"

    def machine(self) -> tuple[str, ...]:
        return (
            f"RISC-V, rv64gcv with Zba, Zbb, Zbs and Zfh; VLEN {self.bits}, ELEN 64; one core",
            f"time is {self.clock}",
            "no caches are modelled: only what is executed counts",
        )

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        return check_sources(candidate.files)

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        return self._build(candidate.files, zygote)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        """What macros hid. `build` checks what the counts depend on, even with static rules off."""
        return check_preprocessed_source(built.preprocessed)

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        return self._session(built, zygote)

    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        for files in write_baselines(self.name, task):
            yield partial(self._open_files, files, zygote)

    def _open_files(self, files: dict[str, str], zygote: Zygote) -> Session:
        return self._session(self._build(files, zygote), zygote)

    def _session(self, built: Built, zygote: Zygote) -> Session:
        artefacts = {**built.artefacts, toolchain.METER: self._meter(zygote)}
        return EmulatedSession(artefacts, self.bits, f"counted by {self._emulator}", zygote)

    def _build(self, files: dict[str, str], zygote: Zygote) -> Built:
        toolchain.demand(toolchain.COMPILER, toolchain.LINKER)
        sources = [f for f in sorted(files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]
        step = _BuildStep(
            {**files, **toolchain.runtime_files()},
            [toolchain.compile_command(self.bits, sources), toolchain.link_command(self.bits)],
            (toolchain.OBJECT, toolchain.PROGRAM),
            tuple(toolchain.language_command(self.bits)),
            tuple(f"./{source}" for source in sources),
            tuple(files),
        )
        result = build_once(_key(step), lambda: _build_program(step, zygote))
        kept = msgspec.msgpack.decode(result.artefact, type=_Program)
        artefacts = {toolchain.PROGRAM: kept.program}
        return Built(artefacts, preprocessed=kept.preprocessed, cached=result.cached)

    def _meter(self, zygote: Zygote) -> bytes:
        """The emulator's plug-in that counts instructions, built once per machine."""
        toolchain.demand(toolchain.METER_COMPILER, toolchain.EMULATOR)
        commands, results = [toolchain.meter_command()], (toolchain.METER,)
        step = _BuildStep(toolchain.runtime_files(), commands, results)
        return build_once(_key(step), lambda: _run_step(step, zygote).results[0]).artefact


def _key(step: _BuildStep) -> str:
    identity = (__version__, toolchain.version(toolchain.COMPILER))
    words = (word for command in (*step.commands, step.preprocess) for word in command)
    return cache_key((*identity, *words, *(part for f in step.files.items() for part in f)))


def _build_program(step: _BuildStep, zygote: Zygote) -> bytes:
    """The kernel in its program, once the rules on its object are met. Raises BuildFailed."""
    (kernel, program), preprocessed = _run_step(step, zygote)
    if findings := check_object(kernel):
        first = findings[0]
        raise BuildFailed(first.rule, first.what, tuple(map(str, findings)), first.instead)
    return msgspec.msgpack.encode(_Program(program, preprocessed))


def _run_step(step: _BuildStep, zygote: Zygote) -> _StepDone:
    """The files that the commands leave behind. Raises BuildFailed."""
    with build_sandbox(f"{RVV_PROGRAMS}:build", step._asdict(), zygote) as sandbox:
        body, files = sandbox.request({"go": True}, BUILD_SECONDS)
        results = [content for file in files if (content := read_received([file])) is not None]
    if body["status"] != 0 or len(results) != len(step.results) + 1:
        raise compiler_failure(int(body["status"]), str(body["output"]))
    *made, preprocessed = results
    return _StepDone(made, unpack_source(preprocessed))
