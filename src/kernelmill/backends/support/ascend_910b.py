"""Published figures of the Ascend 910B, for the backends that model it."""

ASCEND_HERTZ = 1.85e9
ASCEND_BYTES_PER_SECOND = 1.6e12
"""Bandwidth of global memory, which all cores share."""
CUBE_OPERATIONS_PER_CYCLE = 2 * 4096
"""Operations of one cube core in half precision."""
