"""The arguments of a traced kernel launch."""

import msgspec

from kernelmill.backends.support.launch_log import Output


class LaunchArgument(msgspec.Struct):
    """A tensor or a number."""

    tensor: Output | None = None
    number: int | float | bool | None = None
