"""The rewrites there are, in the order in which they are applied, and their decisions."""

from collections.abc import Callable
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.passes.associate import associate
from kernelmill.generators.composer.passes.join_scalars import join_scalars
from kernelmill.generators.composer.passes.pool_operands import pool_operands
from kernelmill.generators.composer.passes.reduce_operands import reduce_operands
from kernelmill.generators.composer.passes.scale_and_shift import scale_and_shift
from kernelmill.generators.composer.passes.scale_by_diagonal import scale_by_diagonal
from kernelmill.generators.composer.passes.share_equal import share_equal
from kernelmill.generators.composer.passes.slice_operands import slice_operands
from kernelmill.generators.composer.plan import Plan
from kernelmill.records.decisions import Catalogue, Decision, Decisions


class Rewrite(NamedTuple):
    """A graph with the same results, and less work."""

    name: str
    """That of its decision."""
    apply: Callable[[Graph], Graph]
    """It gives the very same graph back where it changes nothing."""
    about: str


REWRITES = (
    Rewrite("share_equal", share_equal, "compute once what is computed twice from the same"),
    Rewrite(
        "scale_and_shift",
        scale_and_shift,
        "a normalisation by running statistics as one scale and one shift for every channel",
    ),
    Rewrite(
        "scale_by_diagonal",
        scale_by_diagonal,
        "a product with a diagonal matrix as a scaling of rows or columns",
    ),
    Rewrite(
        "slice_operands",
        slice_operands,
        "compute only what is used of a product or a convolution",
    ),
    Rewrite(
        "reduce_operands",
        reduce_operands,
        "sum or average the operands of a linear operator instead of its result",
    ),
    Rewrite(
        "pool_operands",
        pool_operands,
        "average windows of the operands of a linear operator instead of its result",
    ),
    Rewrite(
        "associate",
        associate,
        "multiply several matrices in the order that takes the fewest multiplications",
    ),
    Rewrite(
        "join_scalars",
        join_scalars,
        "scalars behind sums and products that make less of more, and chains of scalars as one",
    ),
)
ALGEBRA: Catalogue = {one.name: Decision((True, False), one.about) for one in REWRITES}
WITHOUT_ALGEBRA: Decisions = dict.fromkeys(ALGEBRA, False)


def rewritten(graph: Graph, plan: Plan) -> Graph:
    """The graph that a plan asks for. Its decision is open only where a rewrite changes it."""
    for rewrite in REWRITES:
        other = rewrite.apply(graph)
        if other is not graph and plan.takes(rewrite.name, True):
            graph = other
    return graph
