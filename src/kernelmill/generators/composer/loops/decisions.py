"""Decisions about loops, which C++ and RISC-V have in common."""

from kernelmill.records.decisions import Decision

SPECIALISE = Decision((True, False), "a second body with the shown sizes as constants")
ACCUMULATE = Decision(
    ("blocked", "float", "double"), "sums in float joined in double, in float, or in double"
)
KEEP_ROWS = Decision(
    (True, False), "store a row that is needed again behind a fold instead of computing it twice"
)
CONTRACT = Decision(
    ("blocked", "loops"), "a matrix product in blocks for caches and registers, or as it is said"
)
LANES = Decision((64, 16, 32, 128), "elements side by side where a fold does not run along memory")
SERIAL_BELOW = 1 << 14
"""Elements that are not worth waking a second thread for."""
