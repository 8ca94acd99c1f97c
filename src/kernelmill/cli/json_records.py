"""The records that read verbs print with `--json`, where no other module has them."""

import msgspec

from kernelmill.backends.base import Requirement
from kernelmill.memory.items import Item
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.proposal import Hint


class TaskLine(msgspec.Struct, frozen=True):
    """A task of a suite, or a file beside the tasks that is none."""

    name: str
    path: str
    family: str | None
    skipped: str = ""
    """Why the file is no task; empty for a task."""


class BackendLine(msgspec.Struct, frozen=True):
    name: str
    title: str
    chips: tuple[str, ...]
    missing: tuple[Requirement, ...]
    """Empty where the backend can be used here."""


class MachineReport(msgspec.Struct, frozen=True):
    version: str
    python: str
    isolation: str
    """`full`, `partial` or `none`."""
    is_ready: bool
    usable_backends: tuple[str, ...]
    requirements: dict[str, tuple[Requirement, ...]]


class ShownItem(msgspec.Struct, frozen=True):
    item: Item
    value: ValueEstimate


class MemoryReport(msgspec.Struct, frozen=True):
    embedder: str
    items: dict[str, int]
    """Number of items by kind."""
    best: dict[str, tuple[ShownItem, ...]]
    """The items of highest value by stage."""


class Explanation(msgspec.Struct, frozen=True):
    attempt: int
    stage: str
    parent: int | None
    shown: tuple[Hint, ...]


class Finding(msgspec.Struct, frozen=True):
    flaw: str
    item: int
    why: str


class SkillRecord(msgspec.Struct, frozen=True):
    name: str
    title: str
    backends: tuple[str, ...]
    expects: tuple[str, ...]
