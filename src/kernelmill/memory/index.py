"""The nearest items to a vector: exactly while they are few, through faiss beyond."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.memory.embedding import Vectors
from kernelmill.memory.store import Memory

EXACT_UP_TO = 50_000
_LISTS = 1024
_PROBES = 16
_TRAINING = 40 * _LISTS
_BATCH = 65_536
"""Vectors read at a time."""


class Near(NamedTuple):
    item: int
    similarity: float


class Index:
    """A copy of the valued items' vectors that follows the memory; rebuilt where it must be."""

    def __init__(self, exact_up_to: int = EXACT_UP_TO) -> None:
        self._exact_up_to = exact_up_to
        self._clear(-1)

    def _clear(self, removals: int) -> None:
        self._removals = removals
        self._last = 0
        self._count = 0
        self._numbers: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._matrix: Vectors = np.zeros((0, 0), np.float32)
        self._lists: Any = None

    def __len__(self) -> int:
        return self._count

    def refresh(self, memory: Memory) -> None:
        """Take in what was added since; begin anew where anything was removed."""
        removals = memory.removals
        if removals != self._removals:
            self._clear(removals)
        while True:
            numbers, vectors = memory.vectors(self._last, _BATCH)
            if not numbers:
                return
            self._last = numbers[-1]
            self._take(np.asarray(numbers, np.int64), vectors)

    def _take(self, numbers: npt.NDArray[np.int64], vectors: Vectors) -> None:
        if self._lists is not None:
            self._lists.add_with_ids(vectors, numbers)
            self._count += len(numbers)
            return
        self._append(numbers, vectors)
        if self._count > self._exact_up_to and find_spec("faiss") is not None:
            self._to_lists()

    def search(self, vector: npt.NDArray[np.float32], count: int) -> list[Near]:
        """The nearest, the nearest first."""
        if not self._count:
            return []
        if self._lists is not None:
            similarities, found = self._lists.search(vector[None, :], count)
            pairs = zip(found[0].tolist(), similarities[0].tolist(), strict=True)
            return [Near(item, similarity) for item, similarity in pairs if item >= 0]
        scores = self._matrix[: self._count] @ vector
        best = np.argpartition(-scores, min(count, self._count) - 1)[:count]
        best = best[np.lexsort((self._numbers[best], -scores[best]))]
        return [Near(int(self._numbers[at]), float(scores[at])) for at in best]

    def _append(self, numbers: npt.NDArray[np.int64], vectors: Vectors) -> None:
        """Room grows by doubling, so that one more item does not copy them all."""
        needed = self._count + len(numbers)
        if needed > len(self._matrix):
            room = max(needed, 2 * len(self._matrix))
            matrix, ids = np.zeros((room, vectors.shape[1]), np.float32), np.zeros(room, np.int64)
            if self._count:
                matrix[: self._count] = self._matrix[: self._count]
                ids[: self._count] = self._numbers[: self._count]
            self._matrix, self._numbers = matrix, ids
        self._matrix[self._count : needed] = vectors
        self._numbers[self._count : needed] = numbers
        self._count = needed

    def _to_lists(self) -> None:
        """Cells of near vectors, a byte a dimension: a few cells are searched instead of all."""
        import faiss

        matrix = self._matrix[: self._count]
        lists = min(_LISTS, self._count // 40)
        index: Any = faiss.index_factory(
            matrix.shape[1], f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT
        )
        dice = np.random.default_rng(0)
        sample = dice.choice(self._count, min(self._count, _TRAINING), replace=False)
        index.train(matrix[sample])
        index.add_with_ids(matrix, self._numbers[: self._count])
        index.nprobe = _PROBES
        self._lists = index
        self._matrix = np.zeros((0, 0), np.float32)
        self._numbers = np.zeros(0, np.int64)
