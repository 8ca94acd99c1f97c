"""What a memory holds."""

import enum
import hashlib
import re

import msgspec

from kernelmill.generators.base import REFUSED, Hint, Why
from kernelmill.generators.decisions import Decisions
from kernelmill.memory.values import Value

SUCCESS = "success"
"""The category of what a first success taught."""
FAILURE = "failure"
"""The category of what refusals taught."""


class ItemKind(enum.StrEnum):
    API = "api"
    """A fact of the backend, from its guide. Never valued: it is shown whenever it applies."""
    EXPERIENCE = "experience"
    """What a failure or a success taught."""
    TRACE = "trace"
    """An attempt as it was."""
    PRACTICE = "practice"
    """A change that made a kernel faster."""
    SKILL = "skill"
    """A method somebody wrote down."""


class Role(enum.StrEnum):
    """In what an item is valued. The first two are the stages."""

    DRAFT = "draft"
    REFINE = "refine"
    START = "start"
    """As the attempt that was refined."""


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
    """What similarity is measured on."""
    provenance: Provenance
    identity: tuple[str, ...]
    """What makes it the same as another of its kind: they are merged."""
    decisions: Decisions = {}
    outcome: float | None = None
    category: str = ""
    """Error class, bottleneck, or chapter of the guide."""
    names: tuple[str, ...] = ()
    source: str | None = None
    """Digest of the candidate's files."""
    values: dict[Role, float] = {}
    """What it is worth at first, by the reward that made it."""
    known_as: str = ""
    """The fingerprint it brings along from another memory."""

    @property
    def fingerprint(self) -> str:
        if self.known_as:
            return self.known_as
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
    """How often it was met."""
    made_at: str
    seen_at: str

    @property
    def level_of(self) -> str:
        """The task whose speed it tells, rather than what a change did to it."""
        told = self.kind is ItemKind.TRACE or self.category == SUCCESS
        return self.provenance.task if told and (self.outcome or 0.0) > REFUSED else ""

    def hint(self, why: Why | None = None) -> Hint:
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
    """One row of what was learned."""

    item: int
    role: Role
    family: str
    """Empty: over all families."""
    value: Value


def names_in(text: str) -> tuple[str, ...]:
    """The identifiers a text marks as code."""
    return identifiers(" ".join(re.findall(r"`([^`]+)`", text)))


def identifiers(code: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"[A-Za-z_][\w.:]*\w", code))))
