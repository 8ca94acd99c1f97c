"""RISC-V vectors: built by clang, run by an emulator, timed by exact counts."""

from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

from kernelmill import __version__
from kernelmill.backends import cache
from kernelmill.backends.base import BuildFailed, Built, Finding, Requirement
from kernelmill.backends.baselines import write_baseline
from kernelmill.backends.building import SECONDS, builder, cache_requirement, take
from kernelmill.backends.cpp.diagnostics import first_errors
from kernelmill.backends.modelled import ModelledBackend, Peak, Session
from kernelmill.backends.rvv import toolchain
from kernelmill.backends.rvv.rules import check_object, check_sources
from kernelmill.backends.rvv.session import CLOCK_HERTZ, PROGRAMS, EmulatedSession
from kernelmill.candidate import KERNEL_FILE, Candidate
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments

_SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")
_BITS = {"vlen256": 256, "vlen128": 128, "vlen512": 512, "vlen1024": 1024}


class _Step(NamedTuple):
    """One run of the tool chain in a cell."""

    files: dict[str, str]
    commands: list[list[str]]
    made: tuple[str, ...]


class RvvBackend(ModelledBackend):
    name = "rvv"
    title = "RISC-V with vectors (RVV 1.0), emulated and counted"
    entry = KERNEL_FILE
    scale = "emulated"
    zygote_modules = (PROGRAMS,)
    chips: ClassVar[tuple[str, ...]] = tuple(_BITS)
    clock = (
        "modelled cycles at 1 GHz, from exact counts of what the emulator executed: one for a "
        "scalar instruction, one for every register a vector instruction works on, one for every "
        "element of a strided or indexed access or an ordered sum"
    )
    baseline = "plain clang"

    @property
    def bits(self) -> int:
        """Of a vector register."""
        return _BITS[self.chip]

    @property
    def peak(self) -> Peak:
        """A register of data, or a multiplication and addition in every lane, a cycle."""
        return Peak(CLOCK_HERTZ * self.bits / 8, CLOCK_HERTZ * 2 * self.bits / 32)

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
        """Its version without the distribution's, and what it is set to."""
        version = toolchain.version(toolchain.EMULATOR).partition(" (")[0]
        return f"{version}, VLEN {self.bits}"

    def machine(self) -> tuple[str, ...]:
        return (
            f"RISC-V, rv64gcv with Zba, Zbb, Zbs and Zfh; VLEN {self.bits}, ELEN 64; one core",
            f"time is {self.clock}",
            "no caches are modelled: only what is executed counts",
        )

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        return check_sources(candidate.files)

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        return self._build(candidate.files, zygote)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        """Nothing more: what the count depends on is checked while building, rules or no rules."""
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        return self._session(built, zygote)

    def open_baseline(self, task: Task, init: InitArguments, zygote: Zygote) -> Session:
        files = write_baseline(self.name, task)
        return self._session(self._build(files, zygote), zygote)

    def _session(self, built: Built, zygote: Zygote) -> Session:
        artefacts = {**built.artefacts, toolchain.METER: self._meter(zygote)}
        return EmulatedSession(artefacts, self.bits, f"counted by {self._emulator}", zygote)

    def _build(self, files: dict[str, str], zygote: Zygote) -> Built:
        toolchain.demand(toolchain.COMPILER, toolchain.LINKER)
        sources = [f for f in sorted(files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]
        step = _Step(
            {**files, **toolchain.runtime_sources()},
            [toolchain.compiling(self.bits, sources), toolchain.linking(self.bits)],
            (toolchain.OBJECT, toolchain.PROGRAM),
        )
        key = _key(step)
        if (known := cache.load(key)) is not None:
            return Built({toolchain.PROGRAM: known}, cached=True)
        kernel, program = _made(step, zygote)
        if findings := check_object(kernel):
            raise BuildFailed(
                findings[0].rule, findings[0].what, tuple(map(str, findings)), findings[0].instead
            )
        cache.store(key, program)
        return Built({toolchain.PROGRAM: program})

    def _meter(self, zygote: Zygote) -> bytes:
        """The emulator's plug-in: built once, by the compiler at hand."""
        toolchain.demand(toolchain.METER_COMPILER, toolchain.EMULATOR)
        step = _Step(toolchain.runtime_sources(), [toolchain.building_meter()], (toolchain.METER,))
        key = _key(step)
        if (known := cache.load(key)) is None:
            (known,) = _made(step, zygote)
            cache.store(key, known)
        return known


def _key(step: _Step) -> str:
    identity = (__version__, toolchain.version(toolchain.COMPILER))
    words = (word for command in step.commands for word in command)
    return cache.cache_key((*identity, *words, *(part for f in step.files.items() for part in f)))


def _made(step: _Step, zygote: Zygote) -> list[bytes]:
    """What the commands leave behind. Raises BuildFailed."""
    arguments = {"files": step.files, "commands": step.commands, "made": step.made}
    with builder(f"{PROGRAMS}:build", arguments, zygote) as cell:
        body, descriptors = cell.request({"go": True}, SECONDS)
        made = [content for file in descriptors if (content := take([file])) is not None]
    if body["status"] < 0:
        raise BuildFailed("crash", f"the compiler was killed by signal {-body['status']}", ())
    if body["status"] != 0 or len(made) != len(step.made):
        raise BuildFailed(
            "compile-error", "the compiler refuses it", first_errors(str(body["output"]))
        )
    return made
