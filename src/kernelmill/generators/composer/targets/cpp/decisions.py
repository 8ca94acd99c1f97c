"""The decisions of a kernel in C++."""

from kernelmill.generators.composer.loops.decisions import (
    ACCUMULATE,
    CONTRACT,
    KEEP_ROWS,
    LANES,
    SPECIALISE,
)
from kernelmill.generators.composer.lowering.decisions import FUSE, MOMENTS
from kernelmill.records.decisions import Catalogue, Decision

CATALOGUE: Catalogue = {
    "fuse": FUSE,
    "specialise": SPECIALISE,
    "parallel": Decision(("outer", "none"), "which loops are shared among the threads"),
    "accumulate": ACCUMULATE,
    "moments": MOMENTS,
    "keep_rows": KEEP_ROWS,
    "vectorise": Decision((True, False), "demand vectors, or leave it to the compiler"),
    "contract": CONTRACT,
    "lanes": LANES,
    "tile": Decision(
        ("auto", "6x4", "8x3", "14x2", "4x4"), "register tile of a contraction: rows x vectors"
    ),
    "depth_block": Decision(
        ("auto", 128, 256, 512), "depth of a panel that stays in the first cache"
    ),
    "split": Decision(
        ("auto", "rows", "columns", "batch"), "what the threads divide in a contraction"
    ),
    "operand": Decision(
        ("auto", "packed", "direct"), "copy the right operand into panels, or read it in place"
    ),
}
