"""What the gates said: a typed object, JSON both ways."""

import enum

import msgspec

_SHOWN_EVIDENCE = 12
_SHOWN_KERNELS = 3


class Gate(enum.StrEnum):
    INTEGRITY = "integrity"
    BUILD = "build"
    CORRECTNESS = "correctness"
    LATENCY = "latency"


class Feedback(msgspec.Struct, frozen=True):
    """One reason for a refusal, short enough for a prompt."""

    gate: Gate
    kind: str
    """Its class: `shape`, `numerical`, `time-out`, `compile-error`..."""
    summary: str
    evidence: tuple[str, ...] = ()
    hint: str = ""

    def text(self) -> str:
        lines = [f"{self.gate}: {self.kind}: {self.summary}"]
        lines += [f"  {line}" for line in self.evidence[:_SHOWN_EVIDENCE]]
        if self.hint:
            lines.append(f"  -> {self.hint}")
        return "\n".join(lines)


class Trial(msgspec.Struct, frozen=True):
    """One correctness trial."""

    hidden: bool
    flavour: str
    error: float
    """Norm of the error, as a share of the budget: at most 1 passes."""


class Interval(msgspec.Struct, frozen=True):
    """A ratio of latencies (baseline / candidate: above 1 the candidate is faster)."""

    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        if self.low > 1 + MARGIN:
            return "faster"
        return "slower" if self.high < 1 - MARGIN else "even"

    @classmethod
    def exactly(cls, ratio: float) -> "Interval":
        """Of what was not measured but counted."""
        return cls(ratio, ratio, ratio)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.ratio:.2f}x"
        return f"{self.ratio:.2f}x [{self.low:.2f}, {self.high:.2f}]"


MARGIN = 0.01
"""Two processes of the same kernel differ by up to this share through memory placement alone."""
CONFIDENCE = 0.99
_NEAR = 3.0
"""The floors are those of an ideal machine: this many times one is near it."""


class Latency(msgspec.Struct, frozen=True):
    candidate_ms: float
    eager_ms: float
    compile_ms: float | None
    over_eager: Interval
    over_compile: Interval | None
    floor_ms: float
    """What moving the inputs and outputs once would take: nothing below it is believed."""
    arithmetic_ms: float
    """What the reference's arithmetic would take on an impossibly fast processor."""
    rounds: int
    calls_per_round: int
    disturbed: float = 0.0
    """Share of rounds in which something else on the machine got in the way."""
    relaxed_ms: float | None = None
    """Eager with shorter types in its products (TF32): a promise the candidate is not held to."""
    baseline: str = "eager"
    """What stands where eager does: on a modelled chip, its tool chain's own way."""

    @property
    def counted(self) -> bool:
        """By a model, which says the same every time; else measured, with an interval."""
        return self.over_eager.low == self.over_eager.high

    @property
    def bottleneck(self) -> str:
        """What the candidate is near the limit of: `memory`, `arithmetic`, or `neither`."""
        nearest = max(self.floor_ms, self.arithmetic_ms)
        if self.candidate_ms > _NEAR * nearest:
            return "neither"
        return "memory" if self.floor_ms >= self.arithmetic_ms else "arithmetic"


class Profile(msgspec.Struct, frozen=True):
    """Where the candidate's processor time went, sampled from outside."""

    looks: int
    kernel: float
    """Share in its own library."""
    foreign: float
    """Share in code that is neither its own nor Python's nor the C++ run time's."""
    foreign_ms: float
    """The same in milliseconds of processor time a call."""


class KernelUse(msgspec.Struct, frozen=True):
    """One kernel on a device, as often as it ran in a call."""

    name: str
    launches: float
    """A call."""
    microseconds: float
    """A call, all launches together."""
    grid: int
    """Blocks."""
    block: int
    """Threads."""
    registers: int
    """A thread."""
    shared_bytes: int
    """A block."""
    spills: int | None = None
    """Registers that went to memory, where the compiler says it."""
    occupancy: float | None = None
    """Share of the threads that a multiprocessor could hold."""

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
    """Where the time on a device goes; told by a profiler beside the candidate, no evidence."""

    kernels: tuple[KernelUse, ...]
    """The hottest first."""
    busy: float
    """Share of the measured time in which the device computes."""
    bandwidth: float
    """Bytes of inputs and outputs a second, as a share of what the memory can move."""
    arithmetic: float
    """The reference's operations a second, as a share of what the device can do in this type."""

    @property
    def launches(self) -> float:
        return sum(kernel.launches for kernel in self.kernels)

    def text(self) -> str:
        """A few lines for a prompt."""
        lines = [
            f"{self.launches:g} launches a call; the device computes {self.busy:.0%} of the time; "
            f"memory at {self.bandwidth:.0%}, arithmetic at {self.arithmetic:.0%} of its limit"
        ]
        lines += [f"  {kernel.text()}" for kernel in self.kernels[:_SHOWN_KERNELS]]
        return "\n".join(lines)


class Modelled(msgspec.Struct, frozen=True):
    """What a model of a chip says of candidate and baseline."""

    model: str
    cycles: float
    baseline: str
    baseline_cycles: float
    bytes: int
    """Moved between memory and core."""
    units: dict[str, float]
    """Unit of the chip, or kind of instruction -> share of the cycles, the greatest first."""
    notes: tuple[str, ...]

    def text(self) -> str:
        """A few lines for a prompt."""
        units = ", ".join(f"{name} {share:.0%}" for name, share in self.units.items())
        lines = [
            f"{self.cycles:,.0f} modelled cycles, {self.baseline} takes {self.baseline_cycles:,.0f}"
            f" ({self.model})",
            f"  {units}; {self.bytes:,} bytes moved",
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


class Evidence(msgspec.Struct, frozen=True):
    """What somebody needs to believe, or repeat, the verdict."""

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
    """Where candidates run, if not on the processor: name, driver, clocks."""


class Verdict(msgspec.Struct, frozen=True):
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

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def to_json_line(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def from_json(cls, text: bytes | str) -> "Verdict":
        return msgspec.json.decode(text, type=cls)
