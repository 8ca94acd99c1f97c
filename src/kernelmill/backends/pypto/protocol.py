"""What the judge's side and the two cells of this backend say to each other."""

import msgspec

from kernelmill.backends.launches import Output, Trace
from kernelmill.backends.traced_session import Ran


class Argument(msgspec.Struct):
    """Of a launch: a tensor, or a number."""

    tensor: Output | None = None
    number: int | float | bool | None = None


class KernelCall(msgspec.Struct):
    kernel: str
    arguments: list[Argument]


class PyptoTrace(Trace, kw_only=True):
    calls: list[KernelCall]


class CallUse(msgspec.Struct):
    """What the vendor's simulator says of one launch."""

    kernel: str
    cycles: int
    figures: dict[str, float]
    """Whatever else its report gives a number for."""


class PyptoRan(Ran, kw_only=True):
    uses: list[CallUse]
