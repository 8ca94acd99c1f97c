"""The triton_ascend backend: kernels compiled to HIVM, which is executed and timed on the CPU."""

import platform
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from kernelmill.backends.base import BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.baselines import write_baselines
from kernelmill.backends.modelled import ModelledBackend, Peak, Session, SessionOpener
from kernelmill.backends.support.ascend_910b import (
    ASCEND_BYTES_PER_SECOND,
    ASCEND_HERTZ,
    CUBE_OPERATIONS_PER_CYCLE,
    lacking_types,
)
from kernelmill.backends.support.build_cache import build_once
from kernelmill.backends.support.building import (
    COMPILER_PROGRAMS,
    Compilation,
    cache_requirement,
    compile_library,
)
from kernelmill.backends.support.environments import Environment
from kernelmill.backends.support.python_rules import EmbeddedLanguage, PythonRules, kernel_names
from kernelmill.backends.support.python_sources import check_python_files
from kernelmill.backends.support.toolchain_zygote import ToolchainZygote
from kernelmill.backends.triton_ascend.hivm.cores import CORES
from kernelmill.backends.triton_ascend.hivm.runtime import COMMAND, LIBRARY, LINK, runtime_sources
from kernelmill.backends.triton_ascend.session import HivmSession
from kernelmill.records.candidate import MODEL_FILE, Candidate, Origin
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import InitArguments

_LANGUAGE = EmbeddedLanguage(
    modules={"triton": frozenset("cdiv jit language next_power_of_2".split()),
             "triton.language": frozenset({"constexpr", "dtype"})
             | frozenset("float16 bfloat16 float32 int8 int16 int32 int64 int1".split())},
    decorators=frozenset({"triton.jit"}),
    extra_decorators=frozenset(),
)  # fmt: skip
_RULES = PythonRules(language=_LANGUAGE)


class TritonAscendBackend(ModelledBackend):
    name = "triton_ascend"
    title = "Huawei Ascend 910B, Triton, compiled to HIVM"
    chips = ("Ascend910B3",)
    clock = (
        "modelled cycles at 1.85 GHz: compiled HIVM is executed, and every operation charged to "
        "its pipe, with the compiler's flags; or its traffic over 1.6 TB/s, if that takes longer"
    )
    baseline = "plain Triton"
    zygote_modules = (COMPILER_PROGRAMS,)
    environment: ClassVar[Environment] = Environment(
        "triton_ascend", Path(__file__).with_name("requirements.txt")
    )

    def __init__(self, chip: str = "") -> None:
        super().__init__(chip)
        self._zygote = ToolchainZygote(self.environment, HivmSession.programs.modules)
        self._building = threading.Lock()

    @property
    def peak(self) -> Peak:
        operations = ASCEND_HERTZ * CORES["AIC"] * CUBE_OPERATIONS_PER_CYCLE
        return Peak(ASCEND_BYTES_PER_SECOND, operations)

    def requirements(self) -> list[Requirement]:
        need, compiler = self.environment, COMMAND[0]
        return [
            Requirement("Triton-Ascend and its compiler", need.found, need.remedy),
            Requirement(compiler, shutil.which(compiler) or "", f"apt-get install {compiler}"),
            cache_requirement(),
        ]

    def toolchain(self) -> str:
        self.environment.demand()
        pins = dict(pin.split("==") for pin in self.environment.pins())
        return f"Triton-Ascend {pins['triton-ascend']}, AscendNPU-IR {pins['ascendnpu-ir']}"

    def machine(self) -> tuple[str, ...]:
        return (
            f"{self.chip}: {CORES['AIV']} vector cores with 192 KiB of unified buffer each, "
            f"{CORES['AIC']} cube cores with 512 KiB of L1 and 128 KiB of L0C each",
            f"time is {self.clock}",
        )

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        findings = check_python_files(candidate, _RULES.check)
        if not findings and not kernel_names(candidate.files[MODEL_FILE], _LANGUAGE):
            what, instead = "the candidate has no Triton kernel", "write one with @triton.jit"
            findings.append(RuleFinding("no-kernel", MODEL_FILE, what, instead))
        return findings

    def lacks(self, task: Task) -> str:
        return lacking_types(task)

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Nothing is compiled here: Triton compiles for the arguments of a call."""
        self.environment.demand()
        try:
            return Built({}, kernels=kernel_names(candidate.files[MODEL_FILE], _LANGUAGE))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        runtime = self._runtime(zygote)
        return HivmSession(candidate, init, self._zygote.get(), self.chip, runtime)

    def _runtime(self, zygote: Zygote) -> bytes:
        """The library that executes translated HIVM: built once per machine."""
        files = runtime_sources()
        sources = tuple(name for name in files if name.endswith(".c"))
        compiler = shutil.which(COMMAND[0]) or COMMAND[0]
        command = (compiler, *COMMAND[1:])
        compilation = Compilation(files, command, sources, LIBRARY, LINK, preprocessed=False)

        def build() -> bytes:
            return compile_library(compilation, zygote).library

        with self._building:
            return build_once(compilation.key(platform.machine()), build).artefact

    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        for files in write_baselines(self.name, task):
            candidate = Candidate(files, Origin.COMPOSER, "baseline")
            yield partial(self.open, candidate, Built({}), init, zygote)
