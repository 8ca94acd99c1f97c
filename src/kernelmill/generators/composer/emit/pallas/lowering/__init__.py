"""What ATen operators mean for blocks: each module registers the rules of one kind of operator."""

from kernelmill.generators.composer.emit.pallas.lowering import (
    indexing,
    pointwise,
    products,
    reductions,
    views,
    windows,
)
from kernelmill.generators.composer.emit.pallas.lowering.registry import Lowering

__all__ = ["Lowering", "indexing", "pointwise", "products", "reductions", "views", "windows"]
