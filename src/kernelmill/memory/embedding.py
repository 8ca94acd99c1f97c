"""Embedders: the contract, and the two built-in ones, which work offline."""

import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kernelmill.records.errors import UsageError

Vectors = npt.NDArray[np.float32]


class Embedder(ABC):
    """Maps texts to unit vectors. Deterministic: equal texts have equal vectors."""

    name: ClassVar[str]
    """Stored with the vectors: one memory never mixes the vectors of two embedders."""
    dimensions: ClassVar[int]

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""


class HashedWords(Embedder):
    """Signed feature hashing of words and word pairs. Needs no model; operator names stay exact."""

    name = "hashed-words-1"
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token, count in Counter(_tokens(text)).items():
                digest = zlib.crc32(token.encode())
                sign = 1.0 if digest & 1 else -1.0
                row[(digest >> 1) % self.dimensions] += sign * (1.0 + np.log(count))
        return _unit(rows)


class WordLlama(Embedder):
    """Mean of the wordllama package's token vectors: similar for words of similar meaning."""

    name = "wordllama-256"
    dimensions = 256

    def __init__(self) -> None:
        folder = _wordllama_folder()
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        (weights,) = folder.glob("weights/*256*.safetensors")
        (tokens,) = folder.glob("tokenizers/l2*_tokenizer_config.json")
        self._tokenizer: Any = Tokenizer.from_file(str(tokens))
        self._table: Any = load_file(str(weights))["embedding.weight"]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, encoded in zip(rows, self._tokenizer.encode_batch(list(texts)), strict=True):
            if encoded.ids:
                row[:] = self._table[encoded.ids].astype(np.float32).mean(axis=0)
        return _unit(rows)


EMBEDDERS: dict[str, type[Embedder]] = {
    embedder.name: embedder for embedder in (HashedWords, WordLlama)
}


def get_embedder(name: str) -> Embedder:
    embedder = EMBEDDERS.get(name)
    if embedder is None:
        raise UsageError(f"no embedder is called {name!r}; there are {', '.join(EMBEDDERS)}")
    return embedder()


def _tokens(text: str) -> list[str]:
    words = re.findall(r"[a-z]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.maximum(lengths, 1e-12)
    return rows


def _wordllama_folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise UsageError(
            "wordllama is not installed: pip install -e '.[embeddings]' in the checkout"
        )
    return Path(spec.origin).parent
