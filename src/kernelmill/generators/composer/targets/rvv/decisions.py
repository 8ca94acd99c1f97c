"""The decisions of a kernel for RISC-V vectors."""

from typing import Any

from kernelmill.generators.composer.loops.decisions import (
    ACCUMULATE,
    CONTRACT,
    KEEP_ROWS,
    LANES,
    SPECIALISE,
)
from kernelmill.generators.composer.lowering.decisions import FUSE, MOMENTS
from kernelmill.generators.composer.plan import Plan
from kernelmill.records.decisions import Catalogue, Decision

CATALOGUE: Catalogue = {
    "fuse": FUSE,
    "specialise": SPECIALISE,
    "accumulate": ACCUMULATE,
    "moments": MOMENTS,
    "keep_rows": KEEP_ROWS,
    "contract": CONTRACT,
    "lanes": Decision((64, 128, 256, 32), LANES.about),
    "lmul": Decision((4, 2, 8, 1), "registers that one vector of a loop is made of"),
    "unroll": Decision((1, 2, 4), "vectors to one turn of a loop"),
    "tail": Decision(
        ("masked", "narrow", "scalar", "all-masked"),
        "what is left of a loop: one vector under a mask, vectors of one register, or one by one; "
        "or all of it under a mask",
    ),
    "polynomials": Decision(
        ("apart", "fused"),
        "a product and a sum a term, or both at once with every constant in a vector",
    ),
    "tile": Decision(
        ("auto", "6x4", "12x2", "4x4", "7x4", "2x8", "3x8", "8x2"),
        "register tile of a contraction: rows x registers to a vector of columns",
    ),
    "depth_steps": Decision((4, 1, 2, 8), "steps of a contraction's depth to one turn of its loop"),
    "operand": Decision(
        ("auto", "packed", "direct"),
        "copy the operands of a contraction, or read them where they lie",
    ),
    "side": Decision(("auto", "columns", "rows"), "which side of a contraction is read in vectors"),
}


class OneThread(Plan):
    """A plan for those who ask what threads share, too."""

    parallel = "none"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)
