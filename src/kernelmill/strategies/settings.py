"""Parsing of settings: `key=value` pairs joined by commas."""

from typing import TypeVar

import msgspec

from kernelmill.records.errors import UsageError

_T = TypeVar("_T", bound=msgspec.Struct)


def parse_settings(text: str, settings: type[_T], owner: str) -> _T:
    """Raises UsageError for an unknown key or an invalid value; `owner` begins its message."""
    pairs = dict(part.partition("=")[::2] for part in text.split(",") if part)
    try:
        return msgspec.convert(pairs, settings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{owner}: {error}") from error
