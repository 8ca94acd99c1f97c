"""What the judge's side and the cells of this backend say to each other."""

import msgspec

from kernelmill.tasks.task import Kind
from kernelmill.tensors.layout import Layout, Node


class LoadRequest(msgspec.Struct):
    """File: the constructor's tensors."""

    sources: dict[str, str]
    init_arguments: Node
    init_layout: Layout


class TraceRequest(msgspec.Struct):
    """A call of these types and shapes."""

    tensors: list[Kind]
    """Inputs, then state."""
    inputs: Node
    state: dict[str, int]


class Traced(msgspec.Struct):
    """File: the traced function, packed."""


class Taken(msgspec.Struct):
    """A traced function has been taken in."""

    outputs: list[Kind]
    steps: int
    """Of all grids together."""
    objection: tuple[str, str] | None = None
    """What it does that a kernel may not, and what to do instead."""


class RunRequest(msgspec.Struct):
    """File: inputs, then state."""

    layout: Layout
    races: bool
    """Whether to look for them: it takes several times as long."""


class Ran(msgspec.Struct):
    """File: the outputs."""

    layout: Layout
    race: bool = False


class UnitUse(msgspec.Struct):
    """One operation of the compiled program."""

    name: str
    cycles: int
    bundles: int
    shares: dict[str, float]
    """Unit -> share of its slots that are filled."""
    vmem_bytes: int = 0


class Compiled(msgspec.Struct):
    operations: list[UnitUse]
    bytes: int
    """Moved between memory and core."""
    grids: dict[str, list[int]]
    """Kernel -> sizes of its grid."""
    loops: int
    """Loops outside kernels: the model counts their bodies once."""
