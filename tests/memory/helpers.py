"""Items and memories for the tests."""

from kernelmill.generators.decisions import Choice
from kernelmill.memory import ItemKind, Memory, NewItem, Provenance, Role
from kernelmill.workspace.database import database_in_memory


def new_memory() -> Memory:
    return Memory(database_in_memory())


def make_item(
    text: str,
    kind: ItemKind = ItemKind.PRACTICE,
    task: str = "suite/other",
    family: str = "pointwise",
    category: str = "",
    outcome: float | None = 0.5,
    value: float | None = None,
    **decisions: Choice,
) -> NewItem:
    return NewItem(
        kind,
        text,
        f"{family} {text}",
        Provenance(task=task, family=family, backend="cpp"),
        (text,),
        decisions,
        outcome,
        category,
        values={} if value is None else {Role.DRAFT: value, Role.REFINE: value},
    )
