"""The contract of a backend."""

import enum
import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import msgspec

from kernelmill.backends.environments import Environment
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task


class Device(enum.StrEnum):
    """Where candidates run; the framework's name for it, where the framework has one."""

    CPU = "cpu"
    CUDA = "cuda"
    NPU = "npu"
    """Built for, and not yet judged on."""
    MODELLED = "modelled"
    """Not in this machine: a simulator executes, and a model tells the time."""


class Requirement(msgspec.Struct, frozen=True):
    """Something the machine must have for a backend to work."""

    name: str
    found: str
    """Version or path; empty where it is missing."""
    remedy: str


class Finding(msgspec.Struct, frozen=True):
    """Something static rules object to, in words a generator can act on."""

    rule: str
    where: str
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.instead}"


class Built(msgspec.Struct, frozen=True):
    """What a build leaves behind."""

    artefacts: dict[str, bytes]
    """Placed beside model.py under these names."""
    prebuilt_extensions: bool = False
    """The candidate builds through the framework's load_inline; it gets these artefacts instead."""
    kernels: tuple[str, ...] = ()
    """Names of its own kernels, where a device's profiler tells kernels apart."""
    compiles_at_run_time: bool = False
    """Its first calls start a compiler: the runner must be allowed to, until the clock runs."""
    workshop: bytes = b""
    """What was compiled ahead of its first calls: an archive of the folder its compilers use."""
    cached: bool = False


class CandidateFailed(Exception):
    """What a tool chain has against a candidate, in words for the generator."""

    def __init__(self, kind: str, summary: str, evidence: tuple[str, ...], hint: str = "") -> None:
        self.kind = kind
        self.summary = summary
        self.evidence = evidence
        self.hint = hint
        super().__init__(summary)


class BuildFailed(CandidateFailed):
    """The candidate does not build."""


class Backend(ABC):
    """A target: language, tool chain, hardware.

    Instances hold nothing of a candidate but caches, and may be used from several threads. `build`
    runs the tool chain in cells only. Methods raise `BackendUnavailable` when the machine lacks
    what they need, and `BuildFailed` for the candidate's own mistakes; nothing else.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    entry: ClassVar[str] = MODEL_FILE
    """The file that every candidate has: where its work begins."""
    scale: ClassVar[str] = "cpu"
    """Which sizes of the built-in tasks suit it."""
    chips: ClassVar[tuple[str, ...]] = ()
    """What NAME:CHIP may ask for; the first is meant where it asks for none."""
    environment: ClassVar[Environment | None] = None
    """Where its tool chain lives, if that needs packages of its own."""
    device: Device = Device.CPU
    measures: bool = True
    """Whether the time of a call says anything here: an interpreter's does not. Where it does not,
    the gates end with correctness, on small shapes only."""
    exact: ClassVar[bool] = False
    """Whether time is counted, not measured: a second look says nothing new."""
    clock: ClassVar[str] = ""
    """How the time of a call is modelled, in words; empty where it is measured."""
    baseline: ClassVar[str] = "eager"
    """What candidates are compared with, in two or three words."""
    zygote_modules: tuple[str, ...] = ()
    """Modules with this backend's cell programs, which the warm process imports first."""

    @abstractmethod
    def requirements(self) -> list[Requirement]:
        """What the backend needs, and what of it this machine has."""

    def demand_requirements(self) -> None:
        """Raises BackendUnavailable where something is missing."""
        missing = [need for need in self.requirements() if not need.found]
        if missing:
            needs = "; ".join(f"{need.name} is missing: {need.remedy}" for need in missing)
            raise BackendUnavailable(f"backend {self.name} cannot work here: {needs}")

    def devices(self) -> tuple[str, ...]:
        """Names of the devices it can run on, by number; none where it runs on the processor."""
        return ()

    @abstractmethod
    def toolchain(self) -> str:
        """Name and version of what builds, as evidence."""

    @abstractmethod
    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        """Static rules. They must find nothing in honest kernels."""

    @abstractmethod
    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Build in a cell, or take the result from the cache."""

    def compile_for(self, task: Task, candidate: Candidate, built: Built, zygote: Zygote) -> Built:
        """Compile, in a cell, what a build leaves open until a task's shapes are known.

        Saves time and decides nothing: whatever fails is left for the first call to say.
        """
        return built

    @abstractmethod
    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        """Rules on what came out of the build, which no spelling in the source can hide from."""

    def guide(self) -> dict[str, str]:
        """The API knowledge of the backend: title -> text."""
        chapters = sorted((self.folder() / "guide").glob("*.md"))
        return {path.stem: path.read_text() for path in chapters}

    def machine(self) -> tuple[str, ...]:
        """What kernels will run on, as facts for whoever writes them."""
        return ()

    def examples(self) -> Path:
        """Honest candidates: one folder a suite, one folder a task in it."""
        return self.folder() / "examples"

    @classmethod
    def folder(cls) -> Path:
        """Where guide and examples lie: beside the module that defines the backend."""
        return Path(inspect.getfile(cls)).parent
