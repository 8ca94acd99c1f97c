"""Verdicts of the judge: gates, feedback, trials, latency, profile, evidence; to and from JSON."""

import enum

import msgspec

from kernelmill.records.numerics import Numerics
from kernelmill.records.text import clean_text

_SHOWN_EVIDENCE = 12
_SHOWN_KERNELS = 3


_MOST_EVIDENCE = 100


def _clean(record: msgspec.Struct, *fields: str) -> None:
    """Clean fields with foreign text, while a record is made."""
    for field in fields:
        msgspec.structs.force_setattr(record, field, clean_text(getattr(record, field)))


LOST = "lost"
"""Kind of a refusal that says nothing of the candidate: its process was killed from outside."""


class Gate(enum.StrEnum):
    """Gates that a candidate passes, in order."""

    INTEGRITY = "integrity"
    BUILD = "build"
    CORRECTNESS = "correctness"
    LATENCY = "latency"


class Feedback(msgspec.Struct, frozen=True):
    """One reason for a refusal, short enough for a prompt.

    Compilers, candidates and task files have their say in it, so all of it is cleaned here.
    """

    gate: Gate
    kind: str
    """Class of the reason: `shape`, `numerical`, `time-out`, `compile-error`..."""
    summary: str
    evidence: tuple[str, ...] = ()
    hint: str = ""

    def __post_init__(self) -> None:
        _clean(self, "kind", "summary", "hint")
        evidence = tuple(map(clean_text, self.evidence[:_MOST_EVIDENCE]))
        msgspec.structs.force_setattr(self, "evidence", evidence)

    def text(self) -> str:
        lines = [f"{self.gate}: {self.kind}: {self.summary}"]
        lines += [f"  {line}" for line in self.evidence[:_SHOWN_EVIDENCE]]
        if self.hint:
            lines.append(f"  -> {self.hint}")
        return "\n".join(lines)


class Trial(msgspec.Struct, frozen=True):
    """One correctness trial."""

    hidden: bool
    distribution: str
    error: float
    """Norm of the error, as a share of the error budget: at most 1 passes."""


class Interval(msgspec.Struct, frozen=True):
    """A ratio of latencies (baseline / candidate: above 1 the candidate is faster)."""

    ratio: float
    low: float
    high: float
    degenerate: bool = False
    """Whether the task asks nothing, so that no ratio means anything."""

    @property
    def verdict(self) -> str:
        if self.degenerate:
            return "degenerate"
        if self.low > 1 + MARGIN:
            return "faster"
        return "slower" if self.high < 1 - MARGIN else "even"

    @classmethod
    def exactly(cls, ratio: float) -> "Interval":
        """An interval without width, for a latency that a model computed."""
        return cls(ratio, ratio, ratio)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.ratio:.2f}x"
        return f"{self.ratio:.2f}x [{self.low:.2f}, {self.high:.2f}]"


MARGIN = 0.01
"""Two processes that run the same kernel differ by up to this share, by memory placement alone."""
CONFIDENCE = 0.99
_NEAR = 3.0
"""A latency up to this multiple of a floor counts as near it: floors are those of an ideal
machine."""


FIRST_FEASIBLE = "first feasible kernel"
"""Name of the baseline of a task that has no other: the first kernel of it that passed."""


class Latency(msgspec.Struct, frozen=True):
    """Latency of a candidate beside its baselines and lower bounds."""

    candidate_ms: float
    baseline_ms: float
    compile_ms: float | None
    over_baseline: Interval
    over_compile: Interval | None
    floor_ms: float
    """Time to move inputs and outputs once: a latency below it is not believed."""
    arithmetic_ms: float
    """Time for the reference's arithmetic on a processor faster than any that exists."""
    rounds: int
    calls_per_round: int
    disturbed: float = 0.0
    """Share of rounds that other load on the machine disturbed."""
    ieee_ms: float | None = None
    """Eager in IEEE float32, where the numerics of the task let the reference round more."""
    baseline: str = "eager"
    """Name of the baseline: eager, or on a modelled chip the tool chain's own kernel, or
    FIRST_FEASIBLE."""

    @property
    def counted(self) -> bool:
        """Whether a deterministic model computed the latencies; else they were measured."""
        return self.over_baseline.low == self.over_baseline.high

    @property
    def bottleneck(self) -> str:
        """The limit that the candidate is near: `memory`, `arithmetic`, or `neither`."""
        nearest = max(self.floor_ms, self.arithmetic_ms)
        if self.candidate_ms > _NEAR * nearest:
            return "neither"
        return "memory" if self.floor_ms >= self.arithmetic_ms else "arithmetic"

    def on_degenerate_task(self) -> "Latency":
        """The same latencies, of which none is called faster."""
        ratios = (self.over_baseline, self.over_compile)
        baseline, compiled = (
            ratio and msgspec.structs.replace(ratio, degenerate=True) for ratio in ratios
        )
        return msgspec.structs.replace(self, over_baseline=baseline, over_compile=compiled)


class Profile(msgspec.Struct, frozen=True):
    """Distribution of the candidate's CPU time over libraries, sampled from outside."""

    looks: int
    """Number of samples of computing threads."""
    kernel: float
    """Share of CPU time in its own library."""
    foreign: float
    """Share in code that is neither its own nor Python's nor the C++ runtime's."""
    foreign_ms: float
    """The same in milliseconds of CPU time per call."""
    framework: float = 0.0
    """Share in the framework's allowed calls, which fill and copy memory."""
    framework_ms: float = 0.0
    """The same in milliseconds of CPU time per call."""


class KernelUse(msgspec.Struct, frozen=True):
    """One kernel on a device, summed over its launches in a call."""

    name: str
    launches: float
    """Launches per call."""
    microseconds: float
    """Time per call, all launches together."""
    grid: int
    """Number of blocks."""
    block: int
    """Threads per block."""
    registers: int
    """Registers per thread."""
    shared_bytes: int
    """Bytes of shared memory per block."""
    spills: int | None = None
    """Registers spilled to memory, where the compiler reports them."""
    occupancy: float | None = None
    """Resident threads, as a share of what a multiprocessor can hold."""

    def __post_init__(self) -> None:
        _clean(self, "name")

    def text(self) -> str:
        parts = [
            f"{self.name}: {self.microseconds:.1f} us",
            f"{self.grid} blocks of {self.block} threads",
            f"{self.registers} registers",
            f"{self.shared_bytes} bytes shared",
        ]
        if self.spills:
            parts.append(f"{self.spills} spilled")
        if self.occupancy is not None:
            parts.append(f"occupancy {self.occupancy:.0%}")
        return ", ".join(parts)


class DeviceDiagnosis(msgspec.Struct, frozen=True):
    """Profile of the time on a device.

    A profiler in the candidate's own process makes it, so it is a hint and not evidence.
    """

    kernels: tuple[KernelUse, ...]
    """The hottest first."""
    busy: float
    """Share of the measured time in which the device computes."""
    bandwidth: float
    """Bytes of inputs and outputs per second, as a share of the memory bandwidth."""
    arithmetic: float
    """The reference's operations per second, as a share of the peak for this type."""

    @property
    def launches(self) -> float:
        return sum(kernel.launches for kernel in self.kernels)

    def text(self) -> str:
        """A few lines for a prompt."""
        lines = [
            f"{self.launches:g} launches per call; the device computes {self.busy:.0%} of the time"
            f"; memory at {self.bandwidth:.0%}, arithmetic at {self.arithmetic:.0%} of its limit"
        ]
        lines += [f"  {kernel.text()}" for kernel in self.kernels[:_SHOWN_KERNELS]]
        return "\n".join(lines)


class Modelled(msgspec.Struct, frozen=True):
    """Cycles of candidate and baseline, as a model of the chip computes them."""

    model: str
    cycles: float
    baseline: str
    baseline_cycles: float
    bytes: int
    """Bytes moved between memory and core."""
    units: dict[str, float]
    """Share of the cycles by unit of the chip or kind of instruction, the greatest first."""
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        _clean(self, "model", "baseline")
        msgspec.structs.force_setattr(self, "notes", tuple(map(clean_text, self.notes)))
        units = {clean_text(name): share for name, share in self.units.items()}
        msgspec.structs.force_setattr(self, "units", units)

    def text(self) -> str:
        """A few lines for a prompt."""
        units = ", ".join(f"{name} {share:.0%}" for name, share in self.units.items())
        lines = [
            f"{self.cycles:,.0f} modelled cycles, {self.baseline} takes {self.baseline_cycles:,.0f}"
            f" ({self.model})",
            f"  {units}; {self.bytes:,} bytes moved",
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def _share(part: float, whole: float) -> str:
    return f"{part / max(whole, 1e-12):.0%}"


class Evidence(msgspec.Struct, frozen=True):
    """Circumstances of a verdict, needed to trust or to repeat it."""

    seeds: str
    """Hash of the secret seeds."""
    machine: str
    processor: str
    threads: int
    versions: dict[str, str]
    isolation: str
    clock: str
    made_at: str
    device: str = ""
    """Device that candidates run on, if not the CPU: name, driver, clocks."""


class Resources(msgspec.Struct, frozen=True):
    """What a call takes besides time; None where nobody can measure it from outside."""

    peak_bytes: int | None = None
    """Most memory that is resident during a call, beyond the process that the kernel was loaded
    into; without mapped files."""
    energy_joules: float | None = None
    """Energy of the device per call. No device reads it yet."""


class Verdict(msgspec.Struct, frozen=True):
    """The judge's verdict on one candidate."""

    task: str
    backend: str
    candidate: str
    """Digest of the candidate's files."""
    passed: bool
    gate: Gate
    """The last gate reached: where it was refused, or `latency`."""
    feedback: tuple[Feedback, ...]
    trials: tuple[Trial, ...]
    latency: Latency | None
    profile: Profile | None
    seconds: dict[str, float]
    """Wall time by gate."""
    evidence: Evidence
    diagnosis: DeviceDiagnosis | None = None
    modelled: Modelled | None = None
    untried: tuple[str, ...] = ()
    """Values that no trial held, each with the reason."""
    degenerate: str = ""
    """Why a kernel could leave out the work of this task; empty where it cannot."""
    numerics: Numerics = Numerics.IEEE
    """The arithmetic that kernel and baselines were held to."""
    resources: Resources = Resources()

    @property
    def diagnosis_text(self) -> str:
        """All that is known of what limits the kernel, in a few lines; empty without a latency."""
        latency = self.latency
        if latency is None:
            return ""
        lines = [
            f"{latency.candidate_ms:.4g} ms; moving inputs and outputs once takes "
            f"{_share(latency.floor_ms, latency.candidate_ms)} of that on an ideal machine, the "
            f"contractions {_share(latency.arithmetic_ms, latency.candidate_ms)}; near the limit "
            f"of: {latency.bottleneck}"
        ]
        if self.diagnosis is not None:
            lines.append(self.diagnosis.text())
        if self.modelled is not None:
            lines.append(self.modelled.text())
        if self.profile is not None and self.profile.looks:
            lines.append(
                f"{self.profile.kernel:.0%} of its processor time in its own library, "
                f"{self.profile.foreign:.0%} in other libraries; the rest is Python and run time"
            )
        return "\n".join(lines)

    @property
    def is_lost(self) -> bool:
        """Whether the candidate was lost rather than judged: nothing can be learned from it."""
        return any(one.kind == LOST for one in self.feedback)

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def to_json_line(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def from_json(cls, text: bytes | str) -> "Verdict":
        return msgspec.json.decode(text, type=cls)
