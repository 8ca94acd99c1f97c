"""What the judge's side and the two cells of this backend say to each other."""

import msgspec

from kernelmill.backends.launches import Trace
from kernelmill.backends.traced_session import Ran


class Argument(msgspec.Struct):
    """Of a launch: a buffer from an element on, or a number."""

    buffer: int | None = None
    offset: int = 0
    number: int | float | bool | None = None


class KernelLaunch(msgspec.Struct):
    kernel: int
    """Which of the kernels."""
    grid: tuple[int, int, int]
    arguments: list[Argument]


class TritonTrace(Trace, kw_only=True):
    kernels: list[str]
    """Each in Triton's intermediate form."""
    launches: list[KernelLaunch]


class LaunchUse(msgspec.Struct):
    """What the model says of one launch."""

    kernel: str
    cycles: float
    bytes: int
    busy: dict[str, float]
    flags: int
    programs: int
    core: str
    local_bytes: dict[str, int]
    doubled: int


class HivmRan(Ran, kw_only=True):
    uses: list[LaunchUse]
