"""ATen operators as PyPTO kernels: each module registers the rules of one kind."""

from kernelmill.generators.composer.emit.pypto.lowering import (
    indexing,
    pointwise,
    products,
    reductions,
    views,
)
from kernelmill.generators.composer.emit.pypto.lowering.registry import LACKING, Lowering

__all__ = ["LACKING", "Lowering", "indexing", "pointwise", "products", "reductions", "views"]
