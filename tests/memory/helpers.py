"""Items and memories for the tests."""

from kernelmill.memory import ItemKind, Memory, NewItem, Provenance, ValueRole
from kernelmill.memory.embedding import HashedWords, Vectors
from kernelmill.records.decisions import Choice
from kernelmill.workspace.database import database_in_memory


class OtherWords(HashedWords):
    name = "other"

    def embed(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        return super().embed([text[::-1] for text in texts])


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
        values={} if value is None else {ValueRole.DRAFT: value, ValueRole.REFINE: value},
    )
