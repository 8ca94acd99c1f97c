"""What is known of a task once it has been looked at."""

import hashlib
from typing import Any

import msgspec

from kernelmill.tensors.layout import Node

Constants = dict[str, int | float]


class Kind(msgspec.Struct, frozen=True):
    """Type and shape of one tensor."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{'x'.join(map(str, self.shape))}]"


class Variant(msgspec.Struct, frozen=True):
    """One set of input shapes of a task."""

    constants: Constants
    """Module-level sizes that differ from the file's own."""
    inputs: Node
    tensors: tuple[Kind, ...]
    hidden: bool
    """Hidden variants are checked, but never shown to a generator."""


class Task(msgspec.Struct, frozen=True):
    id: str
    family: str
    path: str
    source: str
    scale: str
    variants: tuple[Variant, ...]
    """The shown one first."""
    flavours: tuple[str, ...]
    """Input distributions under which the reference stays meaningful; `plain` is the file's own."""
    outputs: tuple[Kind, ...]
    state: dict[str, Kind]
    """Parameters and buffers by name, as in the reference's state dict."""
    signature: tuple[str, ...]
    """ATen operators in the order of their first call."""
    flops: int
    """Multiply-adds of contractions and convolutions, times two."""
    buffers: tuple[str, ...] = ()
    """The part of the state that is no parameter: forward may update it."""
    tolerance: float = 8.0
    """How many times the reference's own rounding error a candidate may have."""

    @property
    def shown(self) -> Variant:
        return self.variants[0]

    @property
    def hidden(self) -> tuple[Variant, ...]:
        return self.variants[1:]

    @property
    def dtype(self) -> str:
        """The type of the computation: that of the first floating output, else input."""
        kinds = (*self.outputs, *self.shown.tensors)
        return next((kind.dtype for kind in kinds if "float" in kind.dtype), "float32")

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.scale}\0{self.source}".encode()).hexdigest()[:16]


def kinds(tensors: Any) -> tuple[Kind, ...]:
    """Kinds of framework tensors, without importing the framework."""
    return tuple(Kind(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in tensors)
