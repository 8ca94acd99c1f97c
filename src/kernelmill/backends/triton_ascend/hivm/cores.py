"""Cores of an Ascend 910B, and the cost of a launch."""

LAUNCH_CYCLES = 3700
"""About two microseconds per launch."""
CORES = {"AIV": 40, "AIC": 20, "MIX": 20}
"""Number of vector cores, of cube cores, and of groups of one cube and two vector cores."""
