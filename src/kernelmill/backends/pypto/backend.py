"""PyPTO: the vendor compiles, interprets and simulates; the judge compares what comes out."""

import shutil
import threading
from pathlib import Path, PurePosixPath
from typing import ClassVar

from kernelmill import __version__
from kernelmill.backends import cache
from kernelmill.backends.base import BuildFailed, Built, Finding, Requirement
from kernelmill.backends.building import builder, cache_requirement, take
from kernelmill.backends.environments import Environment
from kernelmill.backends.modelled import BaselineMissing, ModelledBackend, Peak, Session
from kernelmill.backends.pypto.kernels import DECORATOR, LANGUAGE, check_kernels, kernels_of
from kernelmill.backends.pypto.session import CLOCK_HERTZ, ENGINE, TRACING, SimulatedSession
from kernelmill.backends.python_rules import PythonRules
from kernelmill.candidate import MODEL_FILE, Candidate, Origin, is_candidate, read_candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments

_RULES = PythonRules(language=LANGUAGE, expressions=frozenset({DECORATOR}))
_ALOUD = "kernelmill.backends.pypto.logging_aloud"
_BUILDING = "kernelmill.backends.pypto.calculator"
_BUILD_SECONDS = 1800.0
_THREADS = 1
_BYTES_PER_SECOND = 1.6e12
_CUBE_CORES, _CUBE_OPERATIONS = 24, 2 * 4096


class PyptoBackend(ModelledBackend):
    name = "pypto"
    title = "Huawei Ascend 910B, PyPTO, simulated"
    chips = ("Ascend910B1",)
    clock = "cycles of the vendor's simulator for a 910B1, at 1.85 GHz"
    baseline = "its straightforward form"
    environment: ClassVar[Environment] = Environment(
        "pypto", Path(__file__).with_name("requirements.txt")
    )

    def __init__(self, chip: str = "") -> None:
        super().__init__(chip)
        self._warming = threading.Lock()
        self._warm: Zygote | None = None
        self._calculator = b""

    @property
    def peak(self) -> Peak:
        return Peak(_BYTES_PER_SECOND, CLOCK_HERTZ * _CUBE_CORES * _CUBE_OPERATIONS)

    def requirements(self) -> list[Requirement]:
        need = self.environment
        tools = [
            Requirement(tool, shutil.which(tool) or "", f"apt-get install {tool}")
            for tool in ("cmake", "g++")
        ]
        return [Requirement("PyPTO", need.found, need.remedy), *tools, cache_requirement()]

    def toolchain(self) -> str:
        self.environment.demand()
        pins = dict(pin.split("==") for pin in self.environment.pins())
        return f"PyPTO {pins['pypto']}, simulator"

    def machine(self) -> tuple[str, ...]:
        return (
            f"{self.chip}: 24 cube cores and 48 vector cores, 192 KiB of unified buffer each",
            f"time is {self.clock}",
        )

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = [
            finding
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for finding in _RULES.check(text, file)
        ]
        if not findings and not kernels_of(candidate.files[MODEL_FILE]):
            what, instead = "the candidate has no kernel", f"write one with @{DECORATOR}"
            findings.append(Finding("no-kernel", MODEL_FILE, what, instead))
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Kernels are compiled when they are called; here they are checked, rules or no rules."""
        self.environment.demand()
        try:
            findings = check_kernels(candidate.files[MODEL_FILE], MODEL_FILE)
            names = tuple(kernel.name for kernel in kernels_of(candidate.files[MODEL_FILE]))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error
        if findings:
            first = findings[0]
            raise BuildFailed(first.rule, first.what, tuple(map(str, findings)), first.instead)
        return Built({}, kernels=names)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        warm = self._toolchain_zygote()
        return SimulatedSession(candidate, init, warm, self._calculator)

    def open_baseline(self, task: Task, init: InitArguments, zygote: Zygote) -> Session:
        folder = self.folder() / "baselines" / task.id
        if not is_candidate(folder):
            raise BaselineMissing(f"nobody has written {task.id} down for PyPTO")
        return self.open(read_candidate(folder, Origin.SHIPPED), Built({}), init, zygote)

    def _toolchain_zygote(self) -> Zygote:
        """A warm process with PyPTO in it, under its own Python; and its interpreter, built."""
        with self._warming:
            if self._warm is None:
                modules = (_ALOUD, TRACING, ENGINE, _BUILDING)
                self._warm = Zygote(modules, _THREADS, python=self.environment.python)
                self._calculator = self._built_calculator(self._warm)
            return self._warm

    def _built_calculator(self, warm: Zygote) -> bytes:
        """It takes a minute or two, once."""
        key = cache.cache_key((__version__, "calculator", *self.environment.pins()))
        if (known := cache.load(key)) is not None:
            return known
        with builder(f"{_BUILDING}:build_calculator", {}, warm, _BUILD_SECONDS) as cell:
            body, files = cell.request({"go": True}, _BUILD_SECONDS)
            library = take(files)
        if library is None:
            trouble = str(body.get("trouble", ""))[-500:]
            raise BackendUnavailable(
                f"PyPTO's interpreter does not build (it needs cmake and g++): {trouble}"
            )
        cache.store(key, library)
        return library
