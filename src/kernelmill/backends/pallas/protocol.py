"""Messages between the judge and the sandboxes of the pallas backend."""

from typing import NamedTuple

import msgspec

from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Layout, Node


class PallasLoadRequest(msgspec.Struct):
    """A candidate to load. File: the tensors of its constructor, with values."""

    sources: dict[str, str]
    init_arguments: Node
    init_layout: Layout


class Traced(msgspec.Struct):
    """File: the serialized jaxpr."""


class Objection(NamedTuple):
    """A forbidden operation in a traced function."""

    what: str
    instead: str


class FunctionSummary(msgspec.Struct):
    """The engine's description of a function it has loaded."""

    outputs: list[TensorSpec]
    steps: int
    """Grid steps of all kernels together."""
    objection: Objection | None = None


class InterpretRequest(msgspec.Struct):
    """A call. File: inputs, then state."""

    layout: Layout
    detect_races: bool
    """Race detection takes several times as long."""


class Interpreted(msgspec.Struct):
    """File: the outputs."""

    layout: Layout
    race: bool = False


class OperationProfile(msgspec.Struct):
    """libtpu's static profile of one operation of the compiled program."""

    name: str
    cycles: int
    bundles: int
    shares: dict[str, float]
    """Unit -> share of its instruction slots that are filled."""
    vmem_bytes: int = 0


class CompiledKernel(msgspec.Struct):
    operations: list[OperationProfile]
    bytes: int
    """Bytes moved between HBM and the core."""
    grids: dict[str, list[int]]
    """Kernel -> sizes of its grid."""
    loops: int
    """Loops outside of kernels: the model counts their bodies once."""
