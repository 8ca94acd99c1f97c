"""What the gates said: a typed object, JSON both ways."""

import enum

import msgspec

_SHOWN_EVIDENCE = 12


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

    def __str__(self) -> str:
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
    hottest: str = ""
    """The kernel most of the time goes to, where a profiler names it."""
    metrics: dict[str, float] = {}
    """What a device's profiler says of the hottest kernel, by the names of the skills' metrics."""


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

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def to_json_line(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"

    @classmethod
    def from_json(cls, text: bytes | str) -> "Verdict":
        return msgspec.json.decode(text, type=cls)
