"""Pallas candidates: Python that is traced to kernels for a TPU."""

import threading
from pathlib import Path, PurePosixPath

from kernelmill.backends.base import Built, Finding, Requirement
from kernelmill.backends.environments import Environment
from kernelmill.backends.modelled import ModelledBackend, Peak, Session
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.session import ENGINE, TRACING, CandidateSession
from kernelmill.backends.pallas.source_rules import check
from kernelmill.backends.pallas.xla.baseline import EXPORTING, BaselineSession
from kernelmill.candidate import Candidate
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments

_THREADS = 1


class PallasBackend(ModelledBackend):
    """libtpu compiles ahead of time and models cycles; JAX's TPU interpreter executes."""

    name = "pallas"
    title = "TPU, Pallas"
    chips = tuple(CHIPS)
    clock = "libtpu's static cycle estimate over the chip's clock, or HBM traffic over bandwidth"
    baseline = "XLA"
    zygote_modules = (EXPORTING,)
    environment = Environment("pallas", Path(__file__).with_name("requirements.txt"))

    def __init__(self, chip: str = "") -> None:
        super().__init__(chip)
        self._warming = threading.Lock()
        self._warm: Zygote | None = None

    @property
    def peak(self) -> Peak:
        chip = CHIPS[self.chip]
        return Peak(chip.bytes_per_second, chip.operations_per_second)

    def requirements(self) -> list[Requirement]:
        need = self.environment
        return [Requirement("JAX and libtpu", need.found, need.remedy)]

    def toolchain(self) -> str:
        self.environment.demand()
        return ", ".join(pin.replace("==", " ") for pin in self.environment.pins()[:3])

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        return [
            finding
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for finding in check(text, file, entry=file == self.entry)
        ]

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """A kernel is compiled for the shapes of a call: there is nothing to build before it."""
        self.environment.demand()
        return Built({})

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        return CandidateSession(self.chip, candidate, init, self._toolchain_zygote())

    def open_baseline(self, task: Task, init: InitArguments, zygote: Zygote) -> Session:
        return BaselineSession(self.chip, task, zygote, self._toolchain_zygote())

    def _toolchain_zygote(self) -> Zygote:
        """A warm process with JAX in it, under the tool chain's own Python."""
        with self._warming:
            if self._warm is None:
                self._warm = Zygote((TRACING, ENGINE), _THREADS, python=self.environment.python)
            return self._warm
