"""ATen operators as operations of the IR: each module registers the rules of one kind."""

from kernelmill.generators.composer.lowering import (
    attention,
    contractions,
    indexing,
    pointwise,
    reductions,
    views,
    windows,
)
from kernelmill.generators.composer.lowering.registry import Lowering

__all__ = [
    "Lowering",
    "attention",
    "contractions",
    "indexing",
    "pointwise",
    "reductions",
    "views",
    "windows",
]
