"""Nearest-neighbour index of a memory's vectors: exact while they are few, faiss beyond."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.memory.embedding import Vectors
from kernelmill.memory.index_file import load_index, save_index
from kernelmill.memory.store import Memory

EXACT_UP_TO = 50_000
"""Number of items up to which search is exact."""
_LISTS = 1024
"""Inverted lists of the faiss index: clusters of similar vectors."""
_PROBES = 16
"""Inverted lists that one search visits."""
_TRAINING = 40 * _LISTS
"""Vectors that the clusters are trained on."""
_BATCH = 65_536
"""Vectors read at a time."""
_UNSAVED_SHARE = 0.1
"""Growth of the faiss index since it was saved after which it is saved again."""


class Neighbour(NamedTuple):
    item: int
    similarity: float


class VectorIndex:
    """Index of all items that have a value, kept up to date by `refresh`.

    A faiss index is saved beside the memory's database: another process loads it and adds only
    what is newer. It is rebuilt after a removal, and where the file does not match the memory.
    """

    def __init__(self, exact_up_to: int = EXACT_UP_TO) -> None:
        self._exact_up_to = exact_up_to
        self._clear(-1)

    def _clear(self, removals: int) -> None:
        self._removals = removals
        self._last = 0
        self._count = 0
        self._saved = 0
        self._ids: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._matrix: Vectors = np.zeros((0, 0), np.float32)
        self._faiss: Any = None

    def __len__(self) -> int:
        return self._count

    def refresh(self, memory: Memory) -> None:
        """Add items that are new; begin again where any was removed or re-embedded."""
        removals = memory.removals
        if removals != self._removals:
            self._clear(removals)
            self._load(memory)
        while True:
            ids, vectors = memory.vectors(self._last, _BATCH)
            if not ids:
                break
            self._last = ids[-1]
            self._add(np.asarray(ids, np.int64), vectors)
        if self._faiss is not None and self._count > (1 + _UNSAVED_SHARE) * self._saved:
            self._save(memory)

    def search(self, vector: npt.NDArray[np.float32], count: int) -> list[Neighbour]:
        """The nearest items, by decreasing similarity."""
        if not self._count:
            return []
        if self._faiss is not None:
            similarities, found = self._faiss.search(vector[None, :], count)
            pairs = zip(found[0].tolist(), similarities[0].tolist(), strict=True)
            return [Neighbour(item, similarity) for item, similarity in pairs if item >= 0]
        scores = self._matrix[: self._count] @ vector
        best = np.argpartition(-scores, min(count, self._count) - 1)[:count]
        best = best[np.lexsort((self._ids[best], -scores[best]))]
        return [Neighbour(int(self._ids[at]), float(scores[at])) for at in best]

    def _load(self, memory: Memory) -> None:
        loaded = load_index(memory)
        if loaded is not None:
            self._faiss = loaded.index
            self._faiss.nprobe = _PROBES
            self._removals, self._last = loaded.snapshot.removals, loaded.snapshot.last
            self._count = self._saved = loaded.snapshot.count

    def _save(self, memory: Memory) -> None:
        """Save unless items may be rolled back, or were removed while they were read."""
        if memory.in_transaction:
            return
        snapshot = memory.snapshot(self._last)
        if (snapshot.removals, snapshot.count) == (self._removals, self._count):
            save_index(memory, snapshot, self._faiss)
            self._saved = self._count

    def _add(self, ids: npt.NDArray[np.int64], vectors: Vectors) -> None:
        if self._faiss is not None:
            self._faiss.add_with_ids(vectors, ids)
            self._count += len(ids)
            return
        self._append(ids, vectors)
        if self._count > self._exact_up_to and find_spec("faiss") is not None:
            self._build_faiss()

    def _append(self, ids: npt.NDArray[np.int64], vectors: Vectors) -> None:
        """Capacity grows by doubling, so that adding an item does not copy all of them."""
        needed = self._count + len(ids)
        if needed > len(self._matrix):
            capacity = max(needed, 2 * len(self._matrix))
            matrix = np.zeros((capacity, vectors.shape[1]), np.float32)
            all_ids = np.zeros(capacity, np.int64)
            if self._count:
                matrix[: self._count] = self._matrix[: self._count]
                all_ids[: self._count] = self._ids[: self._count]
            self._matrix, self._ids = matrix, all_ids
        self._matrix[self._count : needed] = vectors
        self._ids[self._count : needed] = ids
        self._count = needed

    def _build_faiss(self) -> None:
        """Inverted lists with one byte per dimension, in place of the exact vectors."""
        import faiss

        matrix = self._matrix[: self._count]
        lists = min(_LISTS, self._count // 40)
        index: Any = faiss.index_factory(
            matrix.shape[1], f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT
        )
        rng = np.random.default_rng(0)
        sample = rng.choice(self._count, min(self._count, _TRAINING), replace=False)
        index.train(matrix[sample])
        index.add_with_ids(matrix, self._ids[: self._count])
        index.nprobe = _PROBES
        self._faiss = index
        self._matrix = np.zeros((0, 0), np.float32)
        self._ids = np.zeros(0, np.int64)
