"""Settings of a strategy as they follow its name and a colon: `key=value` with commas between."""

from typing import TypeVar

import msgspec

from kernelmill.errors import UsageError

T = TypeVar("T", bound=msgspec.Struct)


def parse_settings(text: str, kind: type[T], strategy: str) -> T:
    """Raises UsageError for a key or a value there is not."""
    pairs = dict(part.partition("=")[::2] for part in text.split(",") if part)
    try:
        return msgspec.convert(pairs, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"strategy {strategy}: {error}") from error
