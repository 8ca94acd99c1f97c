"""Messages between the judge and the two sandboxes of the pypto backend."""

import msgspec

from kernelmill.backends.support.launch_arguments import LaunchArgument
from kernelmill.backends.support.launch_log import Trace
from kernelmill.backends.support.traced_session import EngineReport


class KernelCall(msgspec.Struct):
    kernel: str
    arguments: list[LaunchArgument]


class PyptoTrace(Trace, kw_only=True):
    calls: list[KernelCall]


class CallEstimate(msgspec.Struct):
    """The simulator's report on one kernel call."""

    kernel: str
    cycles: int
    figures: dict[str, float]
    """Every number in the report, by its label."""


class PyptoRan(EngineReport, kw_only=True):
    calls: list[CallEstimate] = []
    """Empty for a run that was not timed: kernels were executed and not simulated."""
