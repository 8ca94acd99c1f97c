"""The pypto backend: the vendor's library compiles, executes and simulates; the judge compares."""

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from kernelmill import __version__
from kernelmill.backends.base import BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.baselines import write_baselines
from kernelmill.backends.modelled import (
    BaselineMissing,
    ModelledBackend,
    OperatorsLacking,
    Peak,
    Session,
    SessionOpener,
)
from kernelmill.backends.pypto.kernels import DECORATOR, LANGUAGE, check_kernels, find_kernels
from kernelmill.backends.pypto.session import SimulatedSession
from kernelmill.backends.support import build_cache
from kernelmill.backends.support.ascend_910b import (
    ASCEND_BYTES_PER_SECOND,
    ASCEND_HERTZ,
    CUBE_OPERATIONS_PER_CYCLE,
    lacking_types,
)
from kernelmill.backends.support.building import build_sandbox, cache_requirement, read_received
from kernelmill.backends.support.environments import Environment
from kernelmill.backends.support.python_rules import PythonRules
from kernelmill.backends.support.python_sources import check_python_files
from kernelmill.backends.support.toolchain_zygote import ToolchainZygote
from kernelmill.records.candidate import MODEL_FILE, Candidate, Origin
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import InitArguments

_RULES = PythonRules(language=LANGUAGE, expressions=frozenset({DECORATOR}))
_LOGGING = "kernelmill.backends.pypto.library_logging"
_CALCULATOR = "kernelmill.backends.pypto.calculator"
_BUILD_SECONDS = 1800.0
_CUBE_CORES = 24
_VECTOR_CORES = 48


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
        modules = (_LOGGING, *SimulatedSession.programs.modules, _CALCULATOR)
        self._zygote = ToolchainZygote(self.environment, modules)
        self._building = threading.Lock()
        self._calculator = b""

    @property
    def peak(self) -> Peak:
        operations = ASCEND_HERTZ * _CUBE_CORES * CUBE_OPERATIONS_PER_CYCLE
        return Peak(ASCEND_BYTES_PER_SECOND, operations)

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
            f"{self.chip}: {_CUBE_CORES} cube cores and {_VECTOR_CORES} vector cores, "
            "192 KiB of unified buffer each",
            f"time is {self.clock}",
        )

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        findings = check_python_files(candidate, _RULES.check)
        if not findings and not find_kernels(candidate.files[MODEL_FILE]):
            what, instead = "the candidate has no kernel", f"write one with @{DECORATOR}"
            findings.append(RuleFinding("no-kernel", MODEL_FILE, what, instead))
        return findings

    def lacks(self, task: Task) -> str:
        """Types of the chip, then operators of the language: the reference is traced for those."""
        if types := lacking_types(task):
            return types
        try:
            next(write_baselines(self.name, task), None)
        except OperatorsLacking as lacking:
            return str(lacking)
        except BaselineMissing:
            pass
        return ""

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Checks the kernels, even where static rules are off. They are compiled when called."""
        self.environment.demand()
        try:
            findings = check_kernels(candidate.files[MODEL_FILE], MODEL_FILE)
            names = tuple(kernel.name for kernel in find_kernels(candidate.files[MODEL_FILE]))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error
        if findings:
            first = findings[0]
            raise BuildFailed(first.rule, first.what, tuple(map(str, findings)), first.instead)
        return Built({}, kernels=names)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        toolchain = self._zygote.get()
        return SimulatedSession(candidate, init, toolchain, self._load_calculator(toolchain))

    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        for files in write_baselines(self.name, task):
            candidate = Candidate(files, Origin.COMPOSER, "baseline")
            yield partial(self.open, candidate, Built({}), init, zygote)

    def _load_calculator(self, toolchain: Zygote) -> bytes:
        """The library of the vendor's interpreter: built once per machine, in a minute or two."""
        with self._building:
            if not self._calculator:
                key = build_cache.cache_key((__version__, "calculator", *self.environment.pins()))
                self._calculator = build_cache.load_artefact(key) or _build_calculator(
                    toolchain, key
                )
            return self._calculator


def _build_calculator(toolchain: Zygote, key: str) -> bytes:
    with build_sandbox(f"{_CALCULATOR}:build_calculator", {}, toolchain, _BUILD_SECONDS) as sandbox:
        body, files = sandbox.request({"go": True}, _BUILD_SECONDS)
        library = read_received(files)
    if library is None:
        error = str(body.get("error", ""))[-500:]
        raise BackendUnavailable(
            f"PyPTO's interpreter does not build (it needs cmake and g++): {error}"
        )
    build_cache.store_artefact(key, library)
    return library
