"""Items of a memory: kinds, provenance, identity."""

import enum
import hashlib
import re

import msgspec

from kernelmill.memory.values import ValueEstimate
from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import REFUSED, Hint, HintReason

SUCCESS = "success"
"""Category of the experience of a first success."""
FAILURE = "failure"
"""Category of the experience of refusals."""


class ItemKind(enum.StrEnum):
    API = "api"
    """A fact from the backend's guide. It has no value and is shown whenever it applies."""
    EXPERIENCE = "experience"
    """The cause of a failure, a first success, or a change that made a kernel slower."""
    TRACE = "trace"
    """One attempt: its decisions and its outcome."""
    PRACTICE = "practice"
    """A change that made a kernel faster."""
    SKILL = "skill"
    """A method of the skill library, under the rule that allowed it."""


class ValueRole(enum.StrEnum):
    """The purpose for which an item has a value. The first two are the stages of a task."""

    DRAFT = "draft"
    REFINE = "refine"
    START = "start"
    """The trace is the attempt that a refinement starts from."""


class Provenance(msgspec.Struct, frozen=True):
    task: str = ""
    family: str = ""
    backend: str = ""
    generator: str = ""
    campaign: int | None = None
    attempt: int | None = None
    imported_from: str = ""


class NewItem(msgspec.Struct, frozen=True):
    kind: ItemKind
    text: str
    subject: str
    """The text that is embedded: similarity is measured on it."""
    provenance: Provenance
    identity: tuple[str, ...]
    """Items of one kind and backend with the same identity are merged."""
    decisions: Decisions = {}
    outcome: float | None = None
    category: str = ""
    """Error class, bottleneck, chapter of the guide, or rule."""
    names: tuple[str, ...] = ()
    """Identifiers it is about: API names in code, or the name of a method."""
    source: str | None = None
    """Digest of the candidate's files."""
    values: dict[ValueRole, float] = {}
    """Initial values."""
    imported_fingerprint: str = ""
    """The fingerprint that an imported item had in its own memory."""

    @property
    def fingerprint(self) -> str:
        if self.imported_fingerprint:
            return self.imported_fingerprint
        parts = "\0".join((self.kind, self.provenance.backend, *self.identity))
        return hashlib.sha256(parts.encode()).hexdigest()[:32]


class Item(msgspec.Struct, frozen=True):
    id: int
    kind: ItemKind
    text: str
    subject: str
    provenance: Provenance
    fingerprint: str
    decisions: Decisions
    outcome: float | None
    category: str
    names: tuple[str, ...]
    source: str | None
    count: int
    """How often it occurred."""
    made_at: str
    seen_at: str

    @property
    def level_of(self) -> str:
        """The task whose speed the outcome is; empty where it is the effect of a change."""
        is_level = self.kind is ItemKind.TRACE or self.category == SUCCESS
        return self.provenance.task if is_level and (self.outcome or 0.0) > REFUSED else ""

    def hint(self, why: HintReason | None = None) -> Hint:
        return Hint(
            self.kind,
            self.text,
            self.id,
            self.decisions,
            self.outcome,
            self.level_of,
            self.count,
            why,
        )


class ItemValue(msgspec.Struct, frozen=True):
    """The value of one item in one role, overall or for one family of tasks."""

    item: int
    role: ValueRole
    family: str
    """Empty for the value over all families."""
    value: ValueEstimate


def names_in(text: str) -> tuple[str, ...]:
    """Identifiers inside of backquotes."""
    return identifiers(" ".join(re.findall(r"`([^`]+)`", text)))


def identifiers(code: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"[A-Za-z_][\w.:]*\w", code))))
