"""Running code nobody trusts: a warm process that forks confined cells.

The parent holds a `Zygote` (a process with the framework imported). Each `Cell` forked from it
is guarded by a trusted warden and confined by namespaces, Landlock, seccomp and limits, as far
as this machine grants them (`features`).
"""

from kernelmill.sandbox.cell import Cell, Zygote
from kernelmill.sandbox.failures import (
    CellCrashed,
    CellFailure,
    CellLimitExceeded,
    CellProtocolError,
    CellRestless,
    CellTimeout,
    ZygoteLost,
)
from kernelmill.sandbox.features import Features, probe_features
from kernelmill.sandbox.policy import Limits, Policy, Tier

__all__ = [
    "Cell",
    "CellCrashed",
    "CellFailure",
    "CellLimitExceeded",
    "CellProtocolError",
    "CellRestless",
    "CellTimeout",
    "Features",
    "Limits",
    "Policy",
    "Tier",
    "Zygote",
    "ZygoteLost",
    "probe_features",
]
