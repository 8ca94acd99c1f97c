"""A reference as plain data: core ATen operators over tensors of fixed sizes."""

from typing import Any

import msgspec


class Reference(msgspec.Struct, frozen=True, tag="ref"):
    """An argument that is another node's result."""

    node: str


class Real(msgspec.Struct, frozen=True, tag="real"):
    """An argument that JSON has no word for: infinity, not a number."""

    text: str


class DataType(msgspec.Struct, frozen=True, tag="dtype"):
    name: str


class Node(msgspec.Struct, frozen=True):
    name: str
    op: str
    """`add.Tensor`: the ATen operator without its namespace; `getitem` for a part of a result."""
    arguments: list[Any]
    """References and the like as objects with a `type`."""
    keywords: dict[str, Any]


class Graph(msgspec.Struct, frozen=True):
    tensors: list[str]
    """Names of the call's tensors, inputs then state; empty for one that is not used."""
    constants: list[str]
    nodes: list[Node]
    outputs: list[str]
