"""ATen operators as operations on blocks: each module registers the rules of one kind."""

from kernelmill.generators.composer.targets.pallas.lowering import (
    indexing,
    pointwise,
    products,
    reductions,
    views,
    windows,
)
from kernelmill.generators.composer.targets.pallas.lowering.registry import Lowering

# Behind all others: it takes what they have no rule for.
from kernelmill.generators.composer.targets.pallas.lowering import shared  # isort: skip

__all__ = [
    "Lowering",
    "indexing",
    "pointwise",
    "products",
    "reductions",
    "shared",
    "views",
    "windows",
]
