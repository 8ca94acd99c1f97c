"""Items and memories for the tests, and attempts that leave some."""

import msgspec

from kernelmill.memory import Item, ItemKind, Memory, NewItem, Provenance, ValueRole
from kernelmill.memory.embedding import HashedWords, Vectors
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Choice
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Credit, Draft, Hint, Parent, Proposal, Stage
from kernelmill.records.verdict import Feedback, Gate
from kernelmill.strategies import Strategy
from kernelmill.strategies.value import ValueDriven
from kernelmill.workspace import Workspace
from kernelmill.workspace.database import database_in_memory
from samples import make_task, make_verdict, observing


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


def attempt(
    workspace: Workspace,
    ratio: float | None,
    *,
    parent: Parent | None = None,
    context: tuple[Hint, ...] = (),
    message: str = "wrong",
    evidence: tuple[str, ...] = (),
    gate: Gate = Gate.CORRECTNESS,
    files: dict[str, str] | None = None,
    task: str = "",
    calls: tuple[ModelCall, ...] = (),
    credit: Credit | None = None,
    strategy: Strategy | None = None,
    **decisions: object,
) -> Parent:
    """One attempt of the first task, or of one by name, stored and learned from."""
    campaign = workspace.campaign()
    entry = next(one for one in workspace.tasks(campaign) if task in ("", one.name))
    assert entry.task is not None
    claim = workspace.claim(campaign, entry.task)
    assert claim is not None
    stage = Stage.DRAFT if parent is None else Stage.REFINE
    described = msgspec.structs.replace(make_task(), id=entry.name)
    proposal = Proposal(described, "cpp", stage, 1, parent=parent, context=context)
    candidate = Candidate(files or {"model.py": f"# {decisions}"}, Origin.SHIPPED)
    verdict = make_verdict(ratio)
    if ratio is None:
        feedback = Feedback(gate, "numerical", message, evidence)
        verdict = msgspec.structs.replace(verdict, gate=gate, feedback=(feedback,))
    draft = Draft(candidate, decisions, calls=calls, credit=credit)  # type: ignore[arg-type]
    stored = workspace.complete(
        claim, Result(proposal, Seconds(), draft, verdict), observing(strategy or ValueDriven())
    )
    return Parent(stored.id, candidate, verdict, draft.decisions)


def by_kind(workspace: Workspace, kind: ItemKind) -> list[Item]:
    return [item for item in Memory(workspace.database).all_items() if item.kind is kind]
