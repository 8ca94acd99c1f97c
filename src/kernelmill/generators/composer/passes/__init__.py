"""Algebra: rewrites from graph to graph, between trace and lowering, each a decision."""

from kernelmill.generators.composer.passes.algebra import (
    ALGEBRA,
    WITHOUT_ALGEBRA,
    rewritten,
)

__all__ = ["ALGEBRA", "WITHOUT_ALGEBRA", "rewritten"]
