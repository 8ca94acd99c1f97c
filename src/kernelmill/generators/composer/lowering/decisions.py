"""Decisions that lowering and bufferization take for every target that has no other choices."""

from kernelmill.records.decisions import Catalogue, Decision

FUSE = Decision(
    (True, False), "compute pointwise values where they are used instead of storing them"
)
MOMENTS = Decision(
    ("two-pass", "one-pass"), "variance from differences, or from squares in one pass"
)
CATALOGUE: Catalogue = {"fuse": FUSE, "moments": MOMENTS}
