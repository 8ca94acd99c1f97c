"""Items of a memory: kinds, provenance, identity."""

import enum
import hashlib
import re
from typing import Literal

import msgspec

from kernelmill.memory.embedding_text import decisions_text
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import REFUSED, Hint, HintCode, HintReason

SUCCESS = "success"
"""Category of the experience of a first success."""
FAILURE = "failure"
"""Category of the experience of refusals."""
SLOWER = "slower"
"""Category of the experience of changes that made a kernel slower."""
ACQUITTED = "acquitted"
"""Category of a failure whose source passed later. It is shown no more."""


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
    model: str = ""
    """Name of the model that wrote the candidate; empty where none did."""
    campaign: int | None = None
    attempt: int | None = None
    imported_from: str = ""


Mended = Literal["", "further", "passed"]
"""Whether a failure was mended: a change got past it to a later gate, or passed."""


class ItemEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of the code that an item is about."""

    error: str = ""
    """Class of a failure: gate and kind."""
    message: str = ""
    """Message of a failure, without its numbers and paths."""
    excerpt: str = ""
    """The lines that a failure is about."""
    mended: Mended = ""
    gain: float | None = None
    """Speed after a change, as a multiple of that before it."""
    diagnosis_before: str = ""
    diagnosis_after: str = ""
    summary: str = ""
    """What a summariser wrote about it."""


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
    change_from: str | None = None
    change_to: str | None = None
    """Digests of the sources before and after the change that it is about."""
    evidence: ItemEvidence = ItemEvidence()
    values: dict[ValueRole, float] = {}
    """Initial values."""
    imported_fingerprint: str = ""
    """The fingerprint that an imported item had in its own memory."""

    @property
    def fingerprint(self) -> str:
        if self.imported_fingerprint:
            return self.imported_fingerprint
        return item_fingerprint(self.kind, self.provenance.backend, self.identity)


def item_fingerprint(kind: ItemKind, backend: str, identity: tuple[str, ...]) -> str:
    parts = "\0".join((kind, backend, *identity))
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
    change_from: str | None = None
    change_to: str | None = None
    """Digests of the sources before and after the change that it is about: what made a kernel
    faster or slower, or what mended a failure."""
    evidence: ItemEvidence = ItemEvidence()

    @property
    def level_of(self) -> str:
        """The task whose speed the outcome is; empty where it is the effect of a change."""
        is_level = self.kind is ItemKind.TRACE or self.category == SUCCESS
        return self.provenance.task if is_level and (self.outcome or 0.0) > REFUSED else ""

    def hint(self, why: HintReason | None = None, code: HintCode | None = None) -> Hint:
        return Hint(
            self.kind,
            self.full_text,
            self.id,
            self.decisions,
            self.outcome,
            self.level_of,
            self.count,
            why,
            self.provenance.task,
            self.provenance.family,
            self.provenance.backend,
            code,
        )

    @property
    def full_text(self) -> str:
        """Its text, with what a failure is blamed on now."""
        text = self.evidence.summary or self.text
        if self.category == FAILURE and self.decisions:
            return f"{text} Avoid: {decisions_text(self.decisions)}."
        return text


class ItemValue(msgspec.Struct, frozen=True):
    """The value of one item in one role, overall or for one family of tasks."""

    item: int
    role: ValueRole
    family: str
    """Empty for the value over all families."""
    value: ValueEstimate


def quoted_names(text: str) -> tuple[str, ...]:
    """Identifiers inside of backquotes."""
    return identifiers(" ".join(re.findall(r"`([^`]+)`", text)))


def identifiers(code: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"[A-Za-z_][\w.:]*\w", code))))
