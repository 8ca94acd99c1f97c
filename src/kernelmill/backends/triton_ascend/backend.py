"""Triton for Ascend: the vendor's compiler makes HIVM of it, which is executed and timed here."""

import threading
from pathlib import Path, PurePosixPath
from typing import ClassVar

from kernelmill.backends.base import BuildFailed, Built, Finding, Requirement
from kernelmill.backends.baselines import write_baseline
from kernelmill.backends.environments import Environment
from kernelmill.backends.modelled import ModelledBackend, Peak, Session
from kernelmill.backends.python_rules import KernelLanguage, PythonRules, kernel_names
from kernelmill.backends.triton_ascend.hivm.pipes import BYTES_PER_SECOND, CLOCK_HERTZ, CORES
from kernelmill.backends.triton_ascend.session import ENGINE, TRACING, HivmSession
from kernelmill.candidate import MODEL_FILE, Candidate, Origin
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments

_LANGUAGE = KernelLanguage(
    modules={"triton": frozenset("cdiv jit language next_power_of_2".split()),
             "triton.language": frozenset({"constexpr", "dtype"})
             | frozenset("float16 bfloat16 float32 int8 int16 int32 int64 int1".split())},
    decorators=frozenset({"triton.jit"}),
    dressings=frozenset(),
)  # fmt: skip
_RULES = PythonRules(language=_LANGUAGE)
_THREADS = 1
_CUBE_OPERATIONS = 2 * 4096
"""A cycle of a cube core, in half precision."""


class TritonAscendBackend(ModelledBackend):
    name = "triton_ascend"
    title = "Huawei Ascend 910B, Triton, compiled to HIVM"
    chips = ("Ascend910B3",)
    clock = (
        "modelled cycles at 1.85 GHz: compiled HIVM is executed, and every operation charged to "
        "its pipe, with the compiler's flags; or its traffic over 1.6 TB/s, if that takes longer"
    )
    baseline = "plain Triton"
    environment: ClassVar[Environment] = Environment(
        "triton_ascend", Path(__file__).with_name("requirements.txt")
    )

    def __init__(self, chip: str = "") -> None:
        super().__init__(chip)
        self._warming = threading.Lock()
        self._warm: Zygote | None = None

    @property
    def peak(self) -> Peak:
        return Peak(BYTES_PER_SECOND, CLOCK_HERTZ * CORES["AIC"] * _CUBE_OPERATIONS)

    def requirements(self) -> list[Requirement]:
        need = self.environment
        return [Requirement("Triton-Ascend and its compiler", need.found, need.remedy)]

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

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = [
            finding
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for finding in _RULES.check(text, file)
        ]
        if not findings and not kernel_names(candidate.files[MODEL_FILE], _LANGUAGE):
            what, instead = "the candidate has no Triton kernel", "write one with @triton.jit"
            findings.append(Finding("no-kernel", MODEL_FILE, what, instead))
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Triton compiles for the arguments of a call: there is nothing to build before it."""
        self.environment.demand()
        try:
            return Built({}, kernels=kernel_names(candidate.files[MODEL_FILE], _LANGUAGE))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        return HivmSession(candidate, init, self._toolchain_zygote(), {"chip": self.chip})

    def open_baseline(self, task: Task, init: InitArguments, zygote: Zygote) -> Session:
        files = write_baseline(self.name, task)
        candidate = Candidate(files, Origin.COMPOSER, "baseline")
        return HivmSession(candidate, init, self._toolchain_zygote(), {"chip": self.chip})

    def _toolchain_zygote(self) -> Zygote:
        """A warm process with Triton in it, under the tool chain's own Python."""
        with self._warming:
            if self._warm is None:
                self._warm = Zygote((TRACING, ENGINE), _THREADS, python=self.environment.python)
            return self._warm
