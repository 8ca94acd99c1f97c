"""The nearest-neighbour index: it follows the memory, in RAM and on disk."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelmill.memory import Memory
from kernelmill.memory.embedding import HashedWords
from kernelmill.memory.index import VectorIndex
from kernelmill.workspace import Workspace
from memory.helpers import OtherWords, make_item, new_memory

EXACT_UP_TO = 500
ITEMS = 800


def nearest(memory: Memory, index: VectorIndex, text: str) -> int:
    (vector,) = memory.embedder.embed([f"pointwise {text}"])
    return index.search(vector, 1)[0].item


def test_the_index_follows_the_memory() -> None:
    memory, index = new_memory(), VectorIndex()
    index.refresh(memory)
    assert index.search(memory.embedder.embed(["x"])[0], 3) == []
    ids = [memory.add(make_item(f"word{n} alone")) for n in range(20)]
    index.refresh(memory)
    assert nearest(memory, index, "word7 alone") == ids[7]
    memory.remove([ids[7]])
    index.refresh(memory)
    assert len(index) == 19
    assert nearest(memory, index, "word7 alone") != ids[7]


def test_faiss_finds_what_exact_search_finds() -> None:
    memory = new_memory()
    memory.add_all([make_item(f"w{n % 40} v{n % 7} u{n}") for n in range(2000)])
    exact, approximate = VectorIndex(), VectorIndex(exact_up_to=1000)
    for index in (exact, approximate):
        index.refresh(memory)
    newest = memory.add(make_item("the newest one"))
    approximate.refresh(memory)
    assert len(approximate) == 2001
    assert nearest(memory, approximate, "the newest one") == newest
    assert nearest(memory, approximate, "w3 v3 u3") == nearest(memory, exact, "w3 v3 u3")


# On disk


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """With enough items for faiss."""
    pytest.importorskip("faiss", reason="pip install 'kernelmill[scale]'")
    with Workspace(tmp_path / "w", create=True) as opened:
        add(opened, *(f"w{n % 40} v{n % 7} u{n}" for n in range(ITEMS)))
        yield opened


def add(workspace: Workspace, *texts: str) -> None:
    with workspace.writing() as transaction:
        Memory(transaction).add_all([make_item(text) for text in texts])


def index_file(workspace: Workspace) -> Path:
    return workspace.folder / "kernelmill.db.index"


class ReadVectors(Memory):
    """Counts the vectors that an index reads from the database."""

    read = 0

    def vectors(self, above, most):  # type: ignore[no-untyped-def]
        found = super().vectors(above, most)
        self.read += len(found.ids)
        return found


def refreshed(workspace: Workspace) -> tuple[VectorIndex, int]:
    """The index of another process, and the number of vectors it read from the database."""
    memory, index = ReadVectors(workspace.database), VectorIndex(EXACT_UP_TO)
    index.refresh(memory)
    return index, memory.read


def test_another_process_loads_the_index(workspace: Workspace) -> None:
    built, read = refreshed(workspace)
    assert read == ITEMS and index_file(workspace).is_file()
    loaded, read = refreshed(workspace)
    assert (read, len(loaded)) == (0, ITEMS)
    memory = Memory(workspace.database)
    (vector,) = memory.embedder.embed(["pointwise w3 v3 u3"])
    assert loaded.search(vector, 5) == built.search(vector, 5)


def test_only_newer_items_are_added_to_a_loaded_index(workspace: Workspace) -> None:
    refreshed(workspace)
    add(workspace, "the newest one")
    index, read = refreshed(workspace)
    assert (read, len(index)) == (1, ITEMS + 1)
    memory = Memory(workspace.database)
    assert memory.items([nearest(memory, index, "the newest one")])[0].text == "the newest one"


def test_an_index_that_has_grown_is_saved_again(workspace: Workspace) -> None:
    refreshed(workspace)
    add(workspace, *(f"more {n}" for n in range(ITEMS // 5)))
    assert refreshed(workspace)[1] == ITEMS // 5
    assert refreshed(workspace)[1] == 0


def test_an_index_of_removed_or_re_embedded_items_is_rebuilt(workspace: Workspace) -> None:
    refreshed(workspace)
    with workspace.writing() as transaction:
        Memory(transaction).remove([1])
    assert refreshed(workspace)[1] == ITEMS - 1
    with workspace.writing() as transaction:
        Memory(transaction).re_embed(OtherWords())
    memory, index = ReadVectors(workspace.database, OtherWords()), VectorIndex(EXACT_UP_TO)
    index.refresh(memory)
    assert memory.read == ITEMS - 1


def test_an_index_of_another_memory_is_rebuilt(workspace: Workspace, tmp_path: Path) -> None:
    refreshed(workspace)
    with Workspace(tmp_path / "other", create=True) as other:
        add(other, *(f"other {n}" for n in range(ITEMS)))
        shutil.copy(index_file(workspace), index_file(other))
        assert refreshed(other)[1] == ITEMS


def test_an_index_with_items_that_were_lost_is_rebuilt(workspace: Workspace) -> None:
    """A power failure may lose the last transactions; later items have the same ids then."""
    refreshed(workspace)
    connection = workspace.database
    connection.execute("DELETE FROM items WHERE id = (SELECT max(id) FROM items)")
    assert refreshed(workspace)[1] == ITEMS - 1
    refreshed(workspace)
    connection.execute("DELETE FROM items WHERE id = (SELECT max(id) FROM items)")
    add(workspace, "something else")
    assert refreshed(workspace)[1] == ITEMS - 1


@pytest.mark.parametrize("damage", ["empty", "noise", "cut", "flipped", "other format"])
def test_a_corrupt_index_is_rebuilt(workspace: Workspace, damage: str) -> None:
    refreshed(workspace)
    path = index_file(workspace)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "empty": b"",
            "noise": bytes(range(256)) * 99,
            "cut": whole[:middle],
            "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "other format": whole.replace(b'"format":1', b'"format":2', 1),
        }[damage]
    )
    index, read = refreshed(workspace)
    assert (read, len(index)) == (ITEMS, ITEMS)
    assert refreshed(workspace)[1] == 0, "and replaced"


def test_what_may_be_rolled_back_is_not_saved(workspace: Workspace) -> None:
    with workspace.writing() as transaction:
        VectorIndex(EXACT_UP_TO).refresh(Memory(transaction))
        assert not index_file(workspace).exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(workspace: Workspace) -> None:
    workspace.folder.chmod(0o500)
    try:
        assert refreshed(workspace)[1] == ITEMS
        assert refreshed(workspace)[1] == ITEMS
    finally:
        workspace.folder.chmod(0o700)


def test_a_failed_write_leaves_the_old_file(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed(workspace)
    before = index_file(workspace).read_bytes()
    add(workspace, *(f"more {n}" for n in range(ITEMS // 5)))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    refreshed(workspace)
    assert index_file(workspace).read_bytes() == before
    assert not list(workspace.folder.glob("kernelmill.db.index.*"))


def test_a_database_in_ram_has_no_index_file() -> None:
    memory = new_memory()
    memory.add_all([make_item(f"u{n}") for n in range(ITEMS)])
    VectorIndex(EXACT_UP_TO).refresh(memory)
    assert memory.file is None
    assert isinstance(memory.embedder, HashedWords)
