"""Storage of a memory: merging, consistency, one embedder, export and import."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from kernelmill.memory import ItemKind, Memory, ValueRole
from kernelmill.memory.audit import ItemFlaw, audit_memory, prune_memory
from kernelmill.memory.embedding import Embedder, get_embedder
from kernelmill.memory.guide import seed_guide
from kernelmill.memory.index import VectorIndex
from kernelmill.memory.learning import update_values
from kernelmill.memory.transfer import export_memory, import_memory
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.errors import UsageError, WorkspaceError
from kernelmill.workspace import Workspace
from memory.helpers import OtherWords, make_item, new_memory


def step(_visits: int) -> float:
    return 0.3


def test_the_same_item_is_merged() -> None:
    memory = new_memory()
    first = memory.add(make_item("unroll", outcome=0.2, value=0.9))
    again = memory.add(make_item("unroll", outcome=0.6, value=-0.9))
    (item,) = memory.items([first])
    assert first == again
    assert item.count == 2
    assert item.outcome == pytest.approx(0.4)
    assert memory.values([first], ValueRole.DRAFT)[first, ""] == ValueEstimate(0.9), (
        "its value stays"
    )


def test_items_come_back_as_they_went_in() -> None:
    memory = new_memory()
    number = memory.add(make_item("unroll", category="memory", lanes=16, fuse=True))
    (item,) = memory.items([number, 999])
    assert (item.kind, item.text, item.category) == (ItemKind.PRACTICE, "unroll", "memory")
    assert item.decisions == {"lanes": 16, "fuse": True}
    assert item.provenance.task == "suite/other"


def test_the_guide_is_seeded_once() -> None:
    memory = new_memory()
    for _ in range(2):
        seed_guide(
            memory, "cpp", {"vectors": "# SIMD\n\n- Use `omp simd`.\n- Use `v16`\n  twice.\n"}
        )
    facts = memory.of_kind(ItemKind.API, "cpp")
    assert [fact.text for fact in facts] == ["Use `omp simd`.", "Use `v16`\n  twice."]
    assert all(fact.count == 1 for fact in facts)
    assert [fact.text for fact in memory.api_facts("cpp", ["v16"], "")] == ["Use `v16`\n  twice."]
    assert memory.api_facts("cuda", ["v16"], "vectors") == []


def test_values_move_overall_and_by_family() -> None:
    memory = new_memory()
    number = memory.add(make_item("unroll"))
    update_values(memory, [number, 999], ValueRole.REFINE, "softmax", 1.0, step)
    update_values(memory, [number], ValueRole.REFINE, "matmul", -1.0, step)
    values = memory.values([number], ValueRole.REFINE)
    assert values[number, "softmax"] == ValueEstimate(pytest.approx(0.3), 1)
    assert values[number, "matmul"] == ValueEstimate(pytest.approx(0.3 - 0.3 * 1.3), 1)
    assert values[number, ""].visits == 2
    assert memory.values([number], ValueRole.DRAFT) == {}


def test_embedders_never_mix() -> None:
    memory = new_memory()
    memory.add(make_item("unroll"))
    connection = memory._connection
    other: Embedder = OtherWords()
    with pytest.raises(WorkspaceError, match="embedded by hashed-words-1, not by other"):
        Memory(connection, other)
    index = VectorIndex()
    index.refresh(memory)
    memory.re_embed(other)
    assert Memory(connection, other).embedder is other
    index.refresh(memory)
    (vector,) = other.embed(["pointwise unroll"])
    assert index.search(vector, 1)[0].similarity == pytest.approx(1.0, abs=1e-2)


def test_wordllama_knows_which_words_mean_alike() -> None:
    pytest.importorskip("wordllama", reason="pip install 'kernelmill[embeddings]'")
    embedder = get_embedder("wordllama-256")
    one, like, unlike = embedder.embed(["normalise the rows", "layer normalization", "tax law"])
    assert one @ like > one @ unlike


def test_unknown_embedders_are_named() -> None:
    with pytest.raises(UsageError, match="no embedder is called 'magic'"):
        get_embedder("magic")


def test_an_audit_finds_what_is_not_worth_its_place() -> None:
    memory = new_memory()
    fine = memory.add(make_item("fine"))
    dead = memory.add(make_item("dead"))
    wild = memory.add(make_item("wild"))
    copy = memory.add(make_item("fine", family="softmax"))
    memory.set_value(fine, ValueRole.REFINE, "", ValueEstimate(0.5, 3))
    memory.set_value(dead, ValueRole.REFINE, "", ValueEstimate(-0.9, 8))
    memory.set_value(wild, ValueRole.REFINE, "", ValueEstimate(float(1 << 20), 1))
    flaws = {(one.item.id, one.flaw) for one in audit_memory(memory)}
    assert flaws >= {(dead, ItemFlaw.DEAD), (wild, ItemFlaw.OUT_OF_BOUNDS)}
    assert copy == fine, "the same words of the same kind are one item"
    assert [one.item.id for one in prune_memory(memory)] == [dead]
    assert memory.items([dead]) == []
    assert memory.values([dead], ValueRole.REFINE) == {}


def test_a_memory_travels(tmp_path: Path) -> None:
    here, there = new_memory(), new_memory()
    kept = here.add(make_item("kept", lanes=16))
    here.add(make_item("secret", task="held/out"))
    here.set_value(kept, ValueRole.REFINE, "softmax", ValueEstimate(0.5, 3))
    known = there.add(make_item("kept", lanes=16))
    there.set_value(known, ValueRole.REFINE, "softmax", ValueEstimate(-0.5, 1))
    assert export_memory(here, tmp_path / "a.memory", "here", without=("held/*",)) == 1
    assert import_memory(there, tmp_path / "a.memory") == (0, 1)
    assert there.values([known], ValueRole.REFINE)[known, "softmax"] == ValueEstimate(
        pytest.approx(0.25), 4
    )
    with pytest.raises(UsageError, match="imported before"):
        import_memory(there, tmp_path / "a.memory")
    fresh = new_memory()
    assert import_memory(fresh, tmp_path / "a.memory") == (1, 0)
    (item,) = list(fresh.all_items())
    assert (item.provenance.imported_from, item.decisions) == ("here", {"lanes": 16})


def test_what_is_no_memory_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.memory"
    here = new_memory()
    here.add(make_item("kept"))
    export_memory(here, path, "here")
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="not a complete memory file"):
            import_memory(new_memory(), path)
    with pytest.raises(UsageError, match="not a complete memory file"):
        import_memory(new_memory(), tmp_path / "missing")


def update(folder: Path, times: int) -> None:
    with Workspace(folder) as workspace:
        for _ in range(times):
            with workspace.writing() as transaction:
                memory = Memory(transaction)
                update_values(memory, [1, 2], ValueRole.REFINE, "softmax", 1.0, step)
                seen = memory.statistics("cpp")
                memory.set_statistics("cpp", seen.with_reward(1.0))


def test_no_update_is_lost_among_several_writers(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace, workspace.writing() as transaction:
        Memory(transaction).add_all([make_item("one"), make_item("two")])
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=update, args=(tmp_path, 25)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with Workspace(tmp_path) as workspace:
        memory = Memory(workspace.database)
        assert {value.visits for value in memory.values([1, 2], ValueRole.REFINE).values()} == {100}
        assert memory.statistics("cpp").count == 100


def test_a_crash_in_the_middle_of_an_update_leaves_all_or_nothing(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace, workspace.writing() as transaction:
        Memory(transaction).add_all([make_item("one"), make_item("two")])
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=update, args=(tmp_path, 1_000_000))
    writer.start()
    with Workspace(tmp_path) as workspace:
        while Memory(workspace.database).statistics("cpp").count < 5:
            time.sleep(0.017)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with Workspace(tmp_path) as workspace:
        assert workspace.database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        memory = Memory(workspace.database)
        visits = {value.visits for value in memory.values([1, 2], ValueRole.REFINE).values()}
        assert visits == {memory.statistics("cpp").count}
