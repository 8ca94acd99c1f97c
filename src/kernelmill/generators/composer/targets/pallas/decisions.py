"""The decisions of a kernel in Pallas.

Some choices are wrong for some tasks, and the tool chain says so: blocks that are no multiple of a
tile, blocks that do not fit, products too coarse for the error budget.
"""

from kernelmill.generators.composer.lowering.decisions import MOMENTS
from kernelmill.records.decisions import Catalogue, Decision

CATALOGUE: Catalogue = {
    "fuse": Decision(
        ("all", "single", "none"),
        "whatever fits in one kernel, one fold or product to a kernel, or every operator alone",
    ),
    "moments": MOMENTS,
    "rows": Decision(
        ("auto", 8, 32, 100, 128, 256, 512, 2048), "block along the outermost axis that is free"
    ),
    "columns": Decision(("auto", 128, 200, 256, 512, 1024), "block along the next free axis"),
    "depth": Decision(
        ("auto", "whole", 128, 256, 512, 1000),
        "block along an axis that is folded away, or all of it at once",
    ),
    "order": Decision(("rows", "columns"), "which free axis of the grid is the outer one"),
    "buffers": Decision((2, 1, 3), "blocks of each operand on their way or at work"),
    "resident": Decision(
        ("block", "vmem"), "operands needed whole: as blocks, or placed in VMEM once"
    ),
    "semantics": Decision(
        ("auto", "arbitrary", "parallel"),
        "which axes of the grid may run in any order: the free ones, none, or all",
    ),
    "vmem": Decision((100, 16, 32, 64), "MiB of VMEM that a kernel may ask for"),
    "precision": Decision(
        ("highest", "bf16x3", "bf16"), "products of floats: whole, in three parts, or rounded first"
    ),
    "handed": Decision(
        ("as kept", "by rows"),
        "tensors to a kernel as the chip keeps them, or along their rows, which may be a copy",
    ),
    "turn": Decision(("kernel", "host"), "operands transposed in the kernel, or before it"),
}
