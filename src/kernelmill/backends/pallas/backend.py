"""The pallas backend: Python that is traced to kernels for a TPU."""

from collections.abc import Iterator
from pathlib import Path

from kernelmill.backends.base import Built, Requirement, RuleFinding
from kernelmill.backends.modelled import ModelledBackend, Peak, Session, SessionOpener
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.session import CandidateSession
from kernelmill.backends.pallas.source_rules import check_pallas_source
from kernelmill.backends.pallas.xla.baseline import EXPORT_MODULE, BaselineSession
from kernelmill.backends.support.environments import Environment
from kernelmill.backends.support.python_sources import check_python_files
from kernelmill.backends.support.toolchain_zygote import ToolchainZygote
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import InitArguments


class PallasBackend(ModelledBackend):
    """libtpu compiles ahead of time and models cycles; JAX's TPU interpreter executes."""

    name = "pallas"
    title = "TPU, Pallas"
    chips = tuple(CHIPS)
    clock = "libtpu's static cycle estimate over the chip's clock, or HBM traffic over bandwidth"
    baseline = "XLA"
    zygote_modules = (EXPORT_MODULE,)
    environment = Environment("pallas", Path(__file__).with_name("requirements.txt"))

    def __init__(self, chip: str = "") -> None:
        super().__init__(chip)
        self._zygote = ToolchainZygote(self.environment, CandidateSession.programs.modules)

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

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        def check(text: str, file: str) -> list[RuleFinding]:
            return check_pallas_source(text, file, entry=file == self.entry)

        return check_python_files(candidate, check)

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Nothing is compiled here: a kernel is compiled for the shapes of a call."""
        self.environment.demand()
        return Built({})

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []

    def open(
        self, candidate: Candidate, built: Built, init: InitArguments, zygote: Zygote
    ) -> Session:
        return CandidateSession(self.chip, candidate, init, self._zygote.get())

    def baselines(self, task: Task, init: InitArguments, zygote: Zygote) -> Iterator[SessionOpener]:
        yield lambda: BaselineSession(self.chip, task, zygote, self._zygote.get())
