"""Retrieval by value, and learning from attempts."""

import random
from functools import partial
from pathlib import Path

import msgspec
import pytest

from kernelmill.memory import Item, ItemKind, Memory, ValueRole
from kernelmill.memory.items import FAILURE
from kernelmill.memory.retrieval import Query, RetrievalSettings, Retriever
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Credit, HintReason
from kernelmill.strategies import get_strategy
from kernelmill.strategies.value import ValueDriven
from kernelmill.workspace import Workspace
from memory.helpers import attempt, by_kind, make_item, new_memory
from samples import SETTINGS, new_tasks


def anything(_item: Item) -> bool:
    return True


def ask(text: str = "unroll", **changes: object) -> Query:
    query = Query(
        text, "suite/task", "pointwise", "cpp", ValueRole.REFINE, "", "", (), 0, 0, anything
    )
    return query._replace(**changes)  # type: ignore[arg-type]


def shown(memory: Memory, query: Query, **settings: object) -> list[str]:
    chosen = RetrievalSettings(**{"epsilon": 0.0, **settings})  # type: ignore[arg-type]
    return [hint.text for hint in Retriever(chosen).retrieve(memory, query, random.Random(0))]


def test_value_outranks_similarity_inside_of_the_pool() -> None:
    memory = new_memory()
    near = memory.add(make_item("unroll the loop"))
    worthy = memory.add(make_item("unroll something else entirely"))
    memory.set_value(near, ValueRole.REFINE, "", ValueEstimate(-0.5, 4))
    memory.set_value(worthy, ValueRole.REFINE, "", ValueEstimate(0.5, 4))
    query = ask("pointwise unroll the loop")
    assert shown(memory, query, shown=1) == ["unroll something else entirely"]
    assert shown(memory, query, shown=1, rank="similarity") == ["unroll the loop"]
    assert shown(memory, query, shown=1, pool=1.0) == ["unroll the loop"], "a pool of one"


def test_an_item_may_be_worth_much_for_one_family_and_nothing_for_another() -> None:
    memory = new_memory()
    split, general = memory.add(make_item("split")), memory.add(make_item("general"))
    memory.set_value(general, ValueRole.REFINE, "", ValueEstimate(0.3, 20))
    for family, value in (("", 0.0), ("softmax", 0.9), ("matmul", -0.9)):
        memory.set_value(split, ValueRole.REFINE, family, ValueEstimate(value, 20))
    assert shown(memory, ask(family="softmax"), shown=1, values="family") == ["split"]
    assert shown(memory, ask(family="matmul"), shown=1, values="family") == ["general"]
    assert shown(memory, ask(family="softmax"), shown=1) == ["general"]


def test_an_item_never_shown_has_an_exploration_bonus() -> None:
    memory = new_memory()
    tried = memory.add(make_item("tried"))
    memory.add(make_item("untried"))
    memory.set_value(tried, ValueRole.REFINE, "", ValueEstimate(0.1, 50))
    assert shown(memory, ask(), shown=1) == ["untried"]
    assert shown(memory, ask(), shown=1, optimism=0.0) == ["tried"]


def test_the_pool_grows_while_nothing_improves() -> None:
    memory = new_memory()
    for n in range(30):
        memory.add(make_item(f"unroll {n}"))
    far = memory.add(make_item("completely different words", value=0.9))
    assert memory.items([far])
    query = ask("pointwise unroll")
    assert "completely different words" not in shown(memory, query, shown=2)
    assert "completely different words" in shown(memory, query._replace(stale=15), shown=2)


def test_sharing_can_be_switched_off() -> None:
    memory = new_memory()
    memory.add(make_item("own", task="suite/task"))
    memory.add(make_item("foreign"))
    assert shown(memory, ask(), share="task") == ["own"]


def test_practices_for_the_same_bottleneck_join_the_pool() -> None:
    memory = new_memory()
    for n in range(20):
        memory.add(make_item(f"unroll {n}", family="pointwise"))
    memory.add(make_item("block for the cache", category="memory", family="matmul", value=0.9))
    query = ask("pointwise unroll", bottleneck="memory")
    assert shown(memory, query, shown=1) == ["block for the cache"]


def test_only_the_ranking_differs_between_value_and_similarity() -> None:
    """The pool is the same, items from anywhere included, and so are the random choices."""
    memory = new_memory()
    for n in range(20):
        memory.add(make_item(f"unroll {n}", value=n / 20))
    failure = partial(make_item, kind=ItemKind.EXPERIENCE, category=FAILURE, outcome=-1.0)
    memory.add(failure("avoid it", value=1.5))
    query = ask("pointwise unroll", bottleneck="memory")
    whole = {"shown": 99, "pool": 1.0}
    by_value = shown(memory, query, **whole)
    by_similarity = shown(memory, query, rank="similarity", **whole)
    assert sorted(by_value) == sorted(by_similarity)
    assert by_value[0] == "avoid it" and by_similarity[-1] == "avoid it"
    explored = [
        [
            hint.why.explored
            for hint in Retriever(
                RetrievalSettings(rank=rank, epsilon=0.5, epsilon_decay=1.0)  # type: ignore[arg-type]
            ).retrieve(memory, query, random.Random(3))
            if hint.why is not None
        ]
        for rank in ("value", "similarity")
    ]
    assert explored[0] == explored[1] and True in explored[0]


def test_frequent_failures_join_the_pool() -> None:
    """Where they are ranked by similarity, too, but there they come last."""
    memory = new_memory()
    for n in range(20):
        memory.add(make_item(f"unroll {n}"))
    memory.add(
        make_item("avoid it", ItemKind.EXPERIENCE, category=FAILURE, outcome=-1.0, value=0.5)
    )
    query = ask("pointwise unroll")
    assert shown(memory, query, shown=1) == ["avoid it"]
    assert "avoid it" not in shown(memory, query, shown=5, rank="similarity")


def test_a_draft_is_shown_what_passed_for_its_task_before() -> None:
    """Also if it passed on another backend, and however many failures are similar."""
    memory = new_memory()
    trace = partial(make_item, kind=ItemKind.TRACE, task="suite/task", value=1.0)
    memory.add_all(
        [
            *(make_item(f"gelu {n}", ItemKind.EXPERIENCE, value=1.0, outcome=-1) for n in range(9)),
            trace("it was refused", outcome=-1.0),
            trace("it was slow", outcome=0.1),
            trace("it was fast", outcome=0.9),
            trace("it was faster than slow", outcome=0.5),
        ]
    )
    asking = ask(backend="cpp:other", role=ValueRole.DRAFT)
    assert shown(memory, asking, shown=3, pool=1)[:2] == ["it was fast", "it was faster than slow"]
    assert "it was fast" not in shown(memory, asking._replace(task="suite/new"), shown=3, pool=1)
    assert "it was fast" not in shown(
        memory, asking._replace(role=ValueRole.REFINE), shown=3, pool=1
    )


def test_random_choices_are_marked_as_explored() -> None:
    memory = new_memory()
    for n in range(10):
        memory.add(make_item(f"item {n}"))
    settings = RetrievalSettings(shown=3, pool=3.0, epsilon=1.0, epsilon_decay=1.0)
    hints = Retriever(settings).retrieve(memory, ask(), random.Random(1))
    assert all(hint.why is not None and hint.why.explored for hint in hints)
    again = Retriever(settings).retrieve(memory, ask(), random.Random(1))
    assert again == hints


@pytest.mark.parametrize("text", ["pool=many", "shine=1", "rank=beauty", "shown"])
def test_wrong_settings_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="strategy value"):
        get_strategy(f"value:{text}")


def test_settings_are_read() -> None:
    strategy = get_strategy("value:rank=similarity,shown=8,pool=30")
    assert isinstance(strategy, ValueDriven)
    assert (strategy.settings.rank, strategy.settings.shown) == ("similarity", 8)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    opened = Workspace(tmp_path / "workspace", create=True)
    opened.create_campaign(msgspec.structs.replace(SETTINGS, budget=30), new_tasks("suite/task"))
    return opened


def test_every_attempt_leaves_a_trace_and_experience(workspace: Workspace) -> None:
    attempt(workspace, None, lanes=64)
    first = attempt(workspace, 1.0, lanes=16)
    attempt(workspace, 2.0, parent=first, lanes=32)
    attempt(workspace, 0.5, parent=first, lanes=128)
    assert len(by_kind(workspace, ItemKind.TRACE)) == 4
    failure, success, slower = by_kind(workspace, ItemKind.EXPERIENCE)
    assert "correctness numerical" in failure.text and "Avoid: lanes=64" in failure.full_text
    assert "passed every gate" in success.text
    assert "only 0.50x as fast" in slower.text
    (practice,) = by_kind(workspace, ItemKind.PRACTICE)
    assert practice.decisions == {"lanes": 32}
    assert "lanes=32 made it 2.00x as fast" in practice.text
    assert practice.outcome == pytest.approx(0.6)


def test_decisions_that_failures_share_are_blamed(workspace: Workspace) -> None:
    attempt(workspace, None, moments="one-pass", lanes=64)
    attempt(workspace, None, moments="one-pass", lanes=16)
    (failure,) = by_kind(workspace, ItemKind.EXPERIENCE)
    assert failure.decisions == {"moments": "one-pass"}
    assert failure.count == 2
    attempt(workspace, None, moments="two-pass", lanes=32)
    assert len(by_kind(workspace, ItemKind.EXPERIENCE)) == 2, "another culprit"


def test_decisions_that_passed_are_not_blamed(workspace: Workspace) -> None:
    attempt(workspace, 1.0, moments="two-pass", lanes=64)
    attempt(workspace, None, moments="one-pass", lanes=64)
    failure = by_kind(workspace, ItemKind.EXPERIENCE)[-1]
    assert failure.decisions == {"moments": "one-pass"}
    attempt(workspace, None, moments="two-pass", lanes=64)
    failure = by_kind(workspace, ItemKind.EXPERIENCE)[-1]
    assert failure.decisions == {"moments": "two-pass", "lanes": 64}, (
        "one of them must be the cause"
    )


def test_errors_that_differ_in_sizes_are_one_failure(workspace: Workspace) -> None:
    attempt(workspace, None, message="3 of 17 elements are wrong", lanes=64, tile="6x4")
    attempt(workspace, None, message="11 of 60 elements are wrong", lanes=64, tile="4x4")
    attempt(workspace, None, message="its norm is too large", lanes=64, tile="4x4")
    wrong, inexact = by_kind(workspace, ItemKind.EXPERIENCE)
    assert (wrong.count, wrong.decisions) == (2, {"lanes": 64})
    assert inexact.count == 1


@pytest.mark.parametrize(("unused", "share"), [("0.3", 0.3), ("0", 0.0), ("1.0", 1.0)])
def test_what_was_used_has_the_credit(workspace: Workspace, unused: str, share: float) -> None:
    """An item that did not reach the writer has none; that of unused ones is a setting."""
    with workspace.writing() as transaction:
        memory = Memory(transaction)
        used, idle, left_out = (memory.add(make_item(name)) for name in ("used", "idle", "out"))
    context = tuple(item.hint(HintReason("near")) for item in memory.items([used, idle, left_out]))
    credit = Credit((used, idle), (used,))
    strategy = get_strategy(f"value:unused={unused}")
    attempt(workspace, 1.0, context=context, credit=credit, strategy=strategy, lanes=16)
    values = memory.values([used, idle, left_out], ValueRole.DRAFT)
    assert values[used, ""] == ValueEstimate(pytest.approx(0.1), 1)
    assert values[idle, ""] == ValueEstimate(pytest.approx(0.1 * share), 1)
    assert (left_out, "") not in values
    assert workspace.attempts(workspace.campaign(), 1)[0].credit == credit


def test_items_that_were_shown_are_rewarded(workspace: Workspace) -> None:
    with workspace.writing() as transaction:
        memory = Memory(transaction)
        helpful, fact = memory.add(make_item("helpful")), memory.add(make_item("f", ItemKind.API))
    context = tuple(item.hint(HintReason("near")) for item in memory.items([helpful, fact]))
    first = attempt(workspace, 1.0, context=context, lanes=16)
    assert memory.values([helpful], ValueRole.DRAFT)[helpful, ""] == ValueEstimate(
        pytest.approx(0.1), 1
    )
    attempt(workspace, 2.0, parent=first, context=context, lanes=32)
    reward = memory.values([helpful], ValueRole.REFINE)[helpful, ""]
    assert reward == ValueEstimate(pytest.approx(0.1 * 0.6), 1), (
        "the first reward: mean 0, deviation 1"
    )
    assert memory.values([fact], ValueRole.DRAFT) == {}, "facts are never valued"
    assert memory.statistics("cpp").count == 1
    start = memory.traces_of([first.attempt])[first.attempt]
    assert memory.values([start.id], ValueRole.START)[start.id, ""].visits == 1
