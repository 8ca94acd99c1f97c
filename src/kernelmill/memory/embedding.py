"""Where a text lies: the contract of an embedder, and the two that work without a network."""

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

from kernelmill.errors import UsageError

Vectors = npt.NDArray[np.float32]


class Embedder(ABC):
    """Turns texts into unit vectors; the same text always into the same one."""

    name: ClassVar[str]
    """Its identity: vectors of different embedders never meet in one memory."""
    dimensions: ClassVar[int]

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""


class HashedWords(Embedder):
    """Words and pairs of words, hashed with a sign: needs nothing, and operator names are exact."""

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
    """The token vectors of the wordllama package, averaged: knows which words mean alike."""

    name = "wordllama-256"
    dimensions = 256

    def __init__(self) -> None:
        folder = _wordllama_folder()
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        (weights,) = folder.glob("weights/*256*.safetensors")
        (words,) = folder.glob("tokenizers/l2*_tokenizer_config.json")
        self._tokenizer: Any = Tokenizer.from_file(str(words))
        self._table: Any = load_file(str(weights))["embedding.weight"]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, encoded in zip(rows, self._tokenizer.encode_batch(list(texts)), strict=True):
            if encoded.ids:
                row[:] = self._table[encoded.ids].astype(np.float32).mean(axis=0)
        return _unit(rows)


EMBEDDERS: dict[str, type[Embedder]] = {kind.name: kind for kind in (HashedWords, WordLlama)}


def get_embedder(name: str) -> Embedder:
    kind = EMBEDDERS.get(name)
    if kind is None:
        raise UsageError(f"no embedder is called {name!r}; there are {', '.join(EMBEDDERS)}")
    return kind()


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
        raise UsageError("wordllama is not installed: pip install 'kernelmill[embeddings]'")
    return Path(spec.origin).parent
