"""ATen operators as PyPTO kernels: each module registers the rules of one kind."""

from kernelmill.generators.composer.targets.pypto.lowering import (
    indexing,
    pointwise,
    products,
    reductions,
    views,
)
from kernelmill.generators.composer.targets.pypto.lowering.registry import LACKING, Lowering

__all__ = ["LACKING", "Lowering", "indexing", "pointwise", "products", "reductions", "views"]
