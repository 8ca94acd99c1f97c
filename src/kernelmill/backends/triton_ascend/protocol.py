"""Messages between the judge and the two sandboxes of the triton_ascend backend."""

import msgspec

from kernelmill.backends.support.launch_arguments import LaunchArgument
from kernelmill.backends.support.launch_log import Trace
from kernelmill.backends.support.traced_session import EngineReport


class KernelLaunch(msgspec.Struct):
    kernel: int
    """Index into the kernels of the trace."""
    grid: tuple[int, int, int]
    arguments: list[LaunchArgument]


class TritonTrace(Trace, kw_only=True):
    kernels: list[str]
    """Triton IR of each kernel."""
    launches: list[KernelLaunch]


class LaunchEstimate(msgspec.Struct):
    """The pipe model's report on one launch."""

    kernel: str
    cycles: float
    bytes: int
    """Bytes moved from and to global memory."""
    busy: dict[str, float]
    """Pipe -> cycles it was busy on the slowest core."""
    flags: int
    """Flags that one program sets."""
    programs: int
    core: str
    local_bytes: dict[str, int]
    """Memory of a core -> bytes in use."""
    doubled: int
    """Number of double-buffered buffers."""
    outside: int
    """Scalar loads from outside of a tensor, whose values are NaN or -1."""


class HivmRan(EngineReport, kw_only=True):
    launches: list[LaunchEstimate]
