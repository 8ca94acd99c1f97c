"""Confined processes for untrusted code, forked from a warm process.

The parent holds a `Zygote` (a process with the framework imported). Each `Sandbox` forked from it
is watched by a trusted supervisor and confined by namespaces, Landlock, seccomp and limits, as far
as this machine grants them (`features`).
"""

from kernelmill.sandbox.failures import (
    SandboxCrashed,
    SandboxFailure,
    SandboxLimitExceeded,
    SandboxProtocolError,
    SandboxRanWhileStopped,
    SandboxTimeout,
    ZygoteLost,
)
from kernelmill.sandbox.features import Features, probe_features
from kernelmill.sandbox.policy import Policy, ResourceLimits, Tier
from kernelmill.sandbox.process import ConfinedProcess, MemoryRegion
from kernelmill.sandbox.sandbox import Sandbox, SandboxFork
from kernelmill.sandbox.zygote import Zygote

__all__ = [
    "ConfinedProcess",
    "Features",
    "MemoryRegion",
    "Policy",
    "ResourceLimits",
    "Sandbox",
    "SandboxCrashed",
    "SandboxFailure",
    "SandboxFork",
    "SandboxLimitExceeded",
    "SandboxProtocolError",
    "SandboxRanWhileStopped",
    "SandboxTimeout",
    "Tier",
    "Zygote",
    "ZygoteLost",
    "probe_features",
]
