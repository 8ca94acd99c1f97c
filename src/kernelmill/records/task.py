"""Description of a task: its variants, tensors, operators and source."""

import hashlib
from typing import Any

import msgspec

from kernelmill.records.numerics import Numerics
from kernelmill.records.tensors import Node
from kernelmill.records.text import is_clean_line

Constants = dict[str, int | float]
"""Values of module-level constants of a task file, by name."""


_LONGEST_NAME = 500


class TensorSpec(msgspec.Struct, frozen=True):
    """Element type and shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.dtype.isidentifier() or min(self.shape, default=0) < 0:
            raise ValueError("a tensor of no type or shape")

    def __str__(self) -> str:
        return f"{self.dtype}[{'x'.join(map(str, self.shape))}]"


class Variant(msgspec.Struct, frozen=True):
    """One set of input shapes of a task."""

    constants: Constants
    """Module-level constants that differ from the file's own values."""
    inputs: Node
    tensors: tuple[TensorSpec, ...]
    hidden: bool
    """Hidden variants are checked, but never shown to a generator."""


class Task(msgspec.Struct, frozen=True):
    """A task file, loaded and described."""

    id: str
    family: str
    path: str
    source: str
    scale: str
    variants: tuple[Variant, ...]
    """The shown variant, then the hidden ones."""
    distributions: tuple[str, ...]
    """Input distributions under which the reference stays meaningful; `plain` is the file's own."""
    outputs: tuple[TensorSpec, ...]
    state: dict[str, TensorSpec]
    """Parameters and buffers by name, as in the reference's state dict."""
    signature: tuple[str, ...]
    """ATen operators in the order of their first call."""
    flops: int
    """Multiply-adds of contractions and convolutions, times two."""
    buffers: tuple[str, ...] = ()
    """Names of the state that are not parameters: forward may update these."""
    tolerance: float = 8.0
    """Error budget of a candidate, as a multiple of the reference's own rounding error."""

    promises: tuple[tuple[str, ...], ...] = ()
    """Structure that all of its inputs have, by tensor: `sorted`, `prefix`, `range 0 9`..."""
    untried: tuple[str, ...] = ()
    """Values that no trial holds, each with the reason."""
    idle: tuple[str, ...] = ()
    """Inputs and parameters on which no output depends, with the inputs that trials use."""
    repair: str = ""
    """How inputs and parameters differ from the file's own, which ask nothing; mostly empty."""
    examined: tuple[TensorSpec, ...] = ()
    """The inputs by which its values were examined, where those are smaller than its own."""
    degenerate: str = ""
    """Why a kernel could leave out the work; empty where it cannot."""
    numerics: Numerics = Numerics.IEEE
    """The arithmetic that it is held to, like its baselines."""
    is_rounded: bool = False
    """Whether the reference itself, under these numerics, is less exact than float32 allows."""

    def __post_init__(self) -> None:
        """Raise ValueError for names that no honest task has: its own code describes it."""
        names = (self.id, self.family, self.scale, *self.distributions, *self.signature)
        for name in (*names, *self.state, *self.buffers):
            if len(name) > _LONGEST_NAME or not is_clean_line(name):
                raise ValueError(f"{name[:_LONGEST_NAME]!r} is no name")

    @property
    def shown(self) -> Variant:
        return self.variants[0]

    @property
    def hidden(self) -> tuple[Variant, ...]:
        return self.variants[1:]

    @property
    def dtype(self) -> str:
        """The type of the computation: that of the first floating output, else input."""
        specs = (*self.outputs, *self.shown.tensors)
        return next((spec.dtype for spec in specs if "float" in spec.dtype), "float32")

    @property
    def digest(self) -> str:
        held_to = "" if self.numerics is Numerics.IEEE else f"{self.numerics}\0"
        text = f"{held_to}{self.scale}\0{self.source}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def tensor_specs(tensors: Any) -> tuple[TensorSpec, ...]:
    """Specs of framework tensors, without importing the framework."""
    return tuple(TensorSpec(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in tensors)
