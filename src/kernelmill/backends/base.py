"""The contract of a backend: one language and tool chain for one kind of hardware.

A backend is a subclass of `Backend` behind the entry point `kernelmill.backends`.
docs/new-backend.md walks through it; `kernelmill.conformance.backend` tests it.
"""

import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import msgspec

from kernelmill.backends.shipping import BuildRecipe
from kernelmill.backends.support.environments import Environment
from kernelmill.backends.support.preprocessing import PreprocessedSource
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote

MOST_VARIABLE_BYTES = 64 << 20
"""Variables of a library that a judge can still compare before and after a call."""


class Requirement(msgspec.Struct, frozen=True):
    """Something that a machine must have for a backend to work."""

    name: str
    found: str
    """Version or path; empty if it is missing."""
    remedy: str
    """What to run or install if it is missing."""


class RuleFinding(msgspec.Struct, frozen=True):
    """One violation of a static rule, in words that a generator can act on."""

    rule: str
    """Short name of the rule: the kind of the feedback."""
    where: str
    """File, with the line if there is one: `kernel.cpp:12`."""
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.instead}"


class RunEnvironment(msgspec.Struct, frozen=True):
    """What candidates need where they run, beside their own files."""

    variables: dict[str, str] = {}
    reading: tuple[str, ...] = ()
    """Folders of the tool chain that they load libraries from."""


class Built(msgspec.Struct, frozen=True):
    """The result of a build. Immutable, and independent of the backend that made it."""

    artefacts: dict[str, bytes]
    """File name -> content. Placed beside model.py where the candidate runs."""
    prebuilt_extensions: bool = False
    """The artefacts are extensions that the candidate's calls of load_inline return, unbuilt."""
    kernels: tuple[str, ...] = ()
    """Names of the candidate's own kernels, for devices whose profiler tells kernels apart."""
    compiles_at_run_time: bool = False
    """First calls start a compiler, so the runner may start processes until timing begins."""
    compile_cache: bytes = b""
    """Tar archive of the compilers' cache folder, filled ahead of the first call."""
    preprocessed: PreprocessedSource = PreprocessedSource()
    """What macros and includes of the candidate's files became, where it has any."""
    cached: bool = False
    """Whether the artefacts come from the build cache."""


class CandidateFailed(Exception):
    """A tool chain's complaint about a candidate, in words for the generator."""

    def __init__(self, kind: str, summary: str, evidence: tuple[str, ...], hint: str = "") -> None:
        self.kind = kind
        self.summary = summary
        self.evidence = evidence
        self.hint = hint
        super().__init__(summary)


class BuildFailed(CandidateFailed):
    """The candidate does not build. The same sources fail in the same way again."""


class BuildInterrupted(BuildFailed):
    """A build that ended without a judgement on the sources: a time-out, a crash, a limit.

    Another attempt may succeed, so this is never cached.
    """


class Backend(ABC):
    """One language and tool chain for one kind of hardware.

    Members are listed in the order in which the author of a new backend meets them.

    Threads: all methods may be called from several threads at once. An instance keeps no state of
    a candidate other than caches, and guards those itself.

    Ownership: the caller makes the zygote and closes it. A backend closes every sandbox that it
    opens in `build` and `compile_for` before it returns. What it returns belongs to the caller.

    Errors: methods raise `BackendUnavailable` if the machine lacks what they need, and
    `BuildFailed` for the candidate's own mistakes. `ZygoteLost` passes through methods that take
    a zygote; the judge then tries again. Any other exception is a bug of the backend.
    """

    name: ClassVar[str]
    """Name of the entry point: a valid identifier, as in `--backend NAME`."""
    title: ClassVar[str]
    """Hardware and language in a few words, for tables: "NVIDIA GPU, CUDA C++"."""
    chips: ClassVar[tuple[str, ...]] = ()
    """The chips that `NAME:CHIP` may ask for, the default first. The constructor of a backend
    with chips takes one, and raises UsageError for any other."""
    chip: str = ""
    """The chip of this instance; empty for a backend without chips."""
    device_kind: str = "cpu"
    """Where candidates run: a name behind the entry point `kernelmill.devices`."""
    scale: ClassVar[str] = "cpu"
    """Default sizes of the built-in tasks: "cpu", or a key of their `SCALES`."""
    shipped_device: ClassVar[str] = ""
    """The framework's device type whose tensors shipped kernels take; empty if none are."""
    has_latency_gate: bool = True
    """False if the time of a call means nothing, as in an interpreter. The gates then end with
    correctness, on small shapes only."""
    deterministic_timing: ClassVar[bool] = False
    """True if the time of a call is computed, not measured: timing it again adds nothing."""
    clock: ClassVar[str] = ""
    """How the time of a call is modelled, as verdicts word it; empty if it is measured."""
    baseline: ClassVar[str] = "eager"
    """What candidates are timed against, in two or three words."""
    environment: ClassVar[Environment | None] = None
    """Python environment of the tool chain, if its pinned packages would conflict with ours."""
    entry: ClassVar[str] = MODEL_FILE
    """The file that every candidate must have."""
    zygote_modules: tuple[str, ...] = ()
    """Modules with the programs that this backend runs in sandboxes. The zygote imports them
    once, so that sandboxes start fast."""

    @property
    def target(self) -> str:
        """Identity in memory, workspace and reports: NAME, or NAME:CHIP if there are several."""
        return f"{self.name}:{self.chip}" if len(self.chips) > 1 else self.name

    @abstractmethod
    def requirements(self) -> list[Requirement]:
        """Everything the backend needs, and what this machine has of it.

        Never raises: `kernelmill doctor` prints it on machines that lack all of it.
        """

    def demand_requirements(self) -> None:
        """Raise BackendUnavailable if a requirement is missing."""
        missing = [need for need in self.requirements() if not need.found]
        if missing:
            needs = "; ".join(f"{need.name} is missing: {need.remedy}" for need in missing)
            raise BackendUnavailable(f"backend {self.name} cannot work here: {needs}")

    def run_environment(self) -> RunEnvironment:
        """Raises BackendUnavailable if the tool chain is missing."""
        return RunEnvironment()

    @abstractmethod
    def toolchain(self) -> str:
        """Names and versions of what builds, for the evidence of a verdict.

        Raises BackendUnavailable if the tool chain is missing.
        """

    def devices(self) -> tuple[str, ...]:
        """Names of the devices it can run on, by number; empty for the CPU."""
        return ()

    @abstractmethod
    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        """Static rules on the sources.

        They must find nothing in honest kernels. They run nothing and raise nothing: text that
        does not parse is a finding.
        """

    def lacks(self, task: Task) -> str:
        """What a task needs and no kernel of this backend can have, in a few words; else empty.

        A campaign sets such a task aside before anything is spent on it.
        """
        return ""

    @abstractmethod
    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Build in a sandbox, or take the result from the build cache.

        The tool chain runs in sandboxes of the zygote only, because compilers execute what they
        are given. Raises BuildFailed for what the tool chain objects to, and BuildInterrupted if
        it came to no conclusion.
        """

    @abstractmethod
    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        """Static rules on the artefacts, which no spelling in the sources evades."""

    def compile_for(self, task: Task, candidate: Candidate, built: Built, zygote: Zygote) -> Built:
        """Compile ahead, in a sandbox, what depends on the shapes of a task.

        Saves time and decides nothing: what fails here is left for the first call to report.
        """
        return built

    def ship(self, candidate: Candidate) -> BuildRecipe | None:
        """How a kernel that passed is built where Kernelmill is not installed.

        None if it runs in a simulator only, or needs a host program that is not written yet.
        """
        return None

    def guide(self) -> dict[str, str]:
        """What writers of kernels should know: chapter -> Markdown. Has a chapter `contract`."""
        chapters = sorted((self.folder() / "guide").glob("*.md"))
        return {path.stem: path.read_text() for path in chapters}

    def machine(self) -> tuple[str, ...]:
        """Facts about the hardware that kernels will run on, one line each, for their writers."""
        return ()

    def examples(self) -> Path:
        """Folder of honest candidates: one folder per suite, in it one folder per task."""
        return self.folder() / "examples"

    @classmethod
    def folder(cls) -> Path:
        """Folder of `guide` and `examples`: that of the module which defines the backend."""
        return Path(inspect.getfile(cls)).parent
