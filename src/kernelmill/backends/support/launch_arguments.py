"""The arguments of a traced kernel launch."""

import msgspec

from kernelmill.backends.support.launch_log import Output


class LaunchArgument(msgspec.Struct):
    """A tensor or a number."""

    tensor: Output | None = None
    whole: int | bool | None = None
    real: str | None = None
    """A float in hexadecimal: messages have no infinities."""

    @classmethod
    def of_number(cls, value: int | float | bool) -> "LaunchArgument":
        return cls(real=value.hex()) if isinstance(value, float) else cls(whole=value)

    @property
    def number(self) -> int | float | bool:
        """Raises ValueError."""
        if self.real is not None:
            return float.fromhex(self.real)
        if self.whole is None:
            raise ValueError("an argument without a value")
        return self.whole
