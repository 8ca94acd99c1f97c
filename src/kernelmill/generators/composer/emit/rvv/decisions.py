"""The decisions of a kernel for RISC-V vectors."""

from typing import Any

from kernelmill.generators.composer.decisions import CATALOGUE as CPP
from kernelmill.generators.composer.decisions import Catalogue, Decision, Plan

CATALOGUE: Catalogue = {
    "fuse": CPP["fuse"],
    "specialise": CPP["specialise"],
    "accumulate": CPP["accumulate"],
    "moments": CPP["moments"],
    "keep_rows": CPP["keep_rows"],
    "contract": CPP["contract"],
    "lanes": CPP["lanes"],
    "lmul": Decision((8, 4, 2, 1), "registers that one vector of a loop is made of"),
    "unroll": Decision((1, 2, 4), "vectors to one turn of a loop"),
    "tail": Decision(
        ("narrow", "scalar", "masked"),
        "what is left of a loop: in vectors of one register, one by one, or all of it under a mask",
    ),
    "polynomials": Decision(
        ("apart", "fused"),
        "a product and a sum a term, or both at once with every constant in a vector",
    ),
    "tile": Decision(
        ("auto", "3x8", "7x4", "15x2", "4x4", "2x8", "8x2", "6x8"),
        "register tile of a contraction: rows x registers to a vector of columns",
    ),
    "depth_steps": Decision((4, 1, 2, 8), "steps of a contraction's depth to one turn of its loop"),
    "operand": Decision(
        ("auto", "packed"), "read the columns of a contraction where they lie, or copy them first"
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
