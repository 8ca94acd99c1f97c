"""A reference as data: a graph of core ATen operators on tensors of fixed shapes."""

from typing import Any

import msgspec


class NodeReference(msgspec.Struct, frozen=True, tag="ref"):
    """An argument that is the result of another node."""

    node: str


class NonFiniteFloat(msgspec.Struct, frozen=True, tag="real"):
    """An argument that JSON cannot represent: infinity or NaN."""

    text: str


class DataType(msgspec.Struct, frozen=True, tag="dtype"):
    name: str


class AtenNode(msgspec.Struct, frozen=True):
    name: str
    op: str
    """The ATen operator without its namespace (`add.Tensor`), or `getitem`."""
    arguments: list[Any]
    """Plain values, and the tagged structs above as objects with a `type`."""
    keywords: dict[str, Any]


class AtenGraph(msgspec.Struct, frozen=True):
    tensors: list[str]
    """Names of the call's tensors, inputs then state; empty for one that is not used."""
    constants: list[str]
    nodes: list[AtenNode]
    outputs: list[str]
