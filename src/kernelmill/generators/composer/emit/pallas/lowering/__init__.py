"""What ATen operators mean for blocks: each module registers the rules of one kind of operator."""

from kernelmill.generators.composer.emit.pallas.lowering import (
    pointwise,
    products,
    reductions,
    views,
)
from kernelmill.generators.composer.emit.pallas.lowering.registry import Lowering

__all__ = ["Lowering", "pointwise", "products", "reductions", "views"]
