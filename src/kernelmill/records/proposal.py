"""Proposals of a strategy, drafts of a generator, opinions of an auditor."""

import enum

import msgspec

from kernelmill.records.candidate import Candidate
from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Guidance, Plan
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.search_step import SearchStep
from kernelmill.records.sweep import SweepSpace
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict

REFUSED = -1.0
"""The outcome of a refused attempt."""


class Stage(enum.StrEnum):
    """Stage of the search on a task."""

    DRAFT = "draft"
    """No candidate of this task has passed the gates yet."""
    REFINE = "refine"
    """There is a candidate that passed, to be made faster."""


class HintReason(msgspec.Struct, frozen=True):
    """The reason a hint was chosen, with the figures of its memory item at that time."""

    reason: str
    similarity: float | None = None
    value: float | None = None
    visits: int = 0
    explored: bool = False
    """Whether it was chosen at random, to explore, and not for its value."""


class HintCode(msgspec.Struct, frozen=True):
    """Code of a hint, with the evidence for it.

    It is not stored with an attempt: the item, or the attempt, that the hint is about has it.
    """

    source: str = ""
    """Digest of the files, or of the files after the change."""
    files: dict[str, str] = {}
    """A candidate that passed, in full."""
    diff: str = ""
    """A change of a candidate."""
    effect: str = ""
    """What came of the change, in a few words."""
    excerpt: str = ""
    """The lines that a refusal is about."""
    diagnosis_before: str = ""
    diagnosis_after: str = ""
    """What limited the kernel, before the change and after it."""


class Hint(msgspec.Struct, frozen=True):
    """One piece of context for a generator."""

    kind: str
    """`api`, `experience`, `trace`, `practice` or `skill`."""
    text: str
    item: int | None = None
    """Id of its item, where it comes from the memory."""
    decisions: Decisions = {}
    """The decisions it is about; empty where it is only text."""
    outcome: float | None = None
    """Outcome of those decisions, from REFUSED to 1; None where they were never tried.

    The outcome of an attempt on the task itself is relative to the parent, where that one passed.
    """
    level_of: str = ""
    """Name of another task, where the outcome is a speed-up over that task's baseline; empty where
    it is the effect of a change, or a refusal."""
    cases: int = 1
    """Number of observations behind the outcome."""
    why: HintReason | None = None
    task: str = ""
    """Name of the task it was learned on; empty where it was learned on none."""
    family: str = ""
    backend: str = ""
    """The target it was learned on; empty where it is the target of the proposal."""
    code: HintCode | None = None

    def without_code(self) -> "Hint":
        """The hint as it is stored."""
        return self if self.code is None else msgspec.structs.replace(self, code=None)


class Parent(msgspec.Struct, frozen=True):
    """The attempt a proposal starts from."""

    attempt: int
    candidate: Candidate
    verdict: Verdict
    decisions: Decisions


class ModelScore(msgspec.Struct, frozen=True):
    """Total reward of a model in a campaign so far."""

    model: str
    attempts: int
    """Number of attempts it wrote."""
    reward: float
    """Sum of their rewards, each from -1 to 1."""
    counted: int = 0
    """Number of the attempts whose tokens are known."""
    tokens_in: int = 0
    tokens_out: int = 0
    """Tokens of those."""


class Credit(msgspec.Struct, frozen=True):
    """Items of a proposal's context that reached the writer, and those that the candidate uses."""

    shown: tuple[int, ...]
    used: tuple[int, ...]


class Draft(msgspec.Struct, frozen=True):
    """What a generator returns."""

    candidate: Candidate
    decisions: Decisions = {}
    prediction: str = ""
    """The change it expects, checked against the verdict afterwards."""
    plan: Plan | None = None
    diagnosis: Diagnosis | None = None
    calls: tuple[ModelCall, ...] = ()
    credit: Credit | None = None
    """None where the generator does not say: then all items of the context were shown."""
    space: SweepSpace | None = None
    """Where it returns a template, or works by decisions: the combinations that may be measured."""


class Proposal(msgspec.Struct, frozen=True):
    """What a strategy asks a generator for."""

    task: Task
    backend: str
    stage: Stage
    seed: int
    """Seed of the generator's random choices; with 0 it makes none."""
    parent: Parent | None = None
    context: tuple[Hint, ...] = ()
    instruction: str = ""
    guidance: Guidance | None = None
    """Where the strategy gives guidance: a generator plans one of its methods before it writes
    code, and diagnoses a refusal before it repairs."""
    number: int = 1
    """Number of the attempt within its task; set by the campaign loop."""
    model_scores: tuple[ModelScore, ...] = ()
    """Scores of the models so far, where there are several; set by the campaign loop."""
    calibration: str = ""
    """How the predictions of the campaign came out so far; empty where there are none."""
    decisions: Decisions = {}
    """Decisions that the strategy asks for, for a generator that works by decisions: the parent's
    apply to all others. Empty: the generator decides."""
    confirm_above: float | None = None
    """Speed as a multiple of the baseline's above which a second verdict, from a new process,
    decides; None: only a champion needs one."""
    remeasure: tuple[Parent, ...] = ()
    """Earlier attempts that are measured again along with this one, each in a new process."""
    step: SearchStep | None = None
    """What the strategy needs to know of this proposal when it observes the outcome."""
    draft: Draft | None = None
    """The candidate itself, where the strategy has it already: then no generator is asked."""
    combinations: int = 0
    """Combinations of a template that would be measured, at most; 0: a template is of no use."""
    writer: int | None = None
    """Number of the model that is asked, among those that share a role; beyond the last it begins
    again. None: the generator chooses."""


class Audit(msgspec.Struct, frozen=True):
    """An auditor's opinion of a candidate."""

    objection: str
    """The reason why a candidate is no honest kernel; empty where there is no objection."""
    calls: tuple[ModelCall, ...] = ()


class Summary(msgspec.Struct, frozen=True):
    """What a summariser says that a verdict teaches."""

    lesson: str = ""
    """Empty where it says nothing."""
    calls: tuple[ModelCall, ...] = ()
