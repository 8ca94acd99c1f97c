"""How bodies are stored: JSON, compressed."""

import zlib
from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def packed(value: object) -> bytes:
    return zlib.compress(msgspec.json.encode(value))


def unpacked(body: bytes, kind: type[_T]) -> _T:
    return msgspec.json.decode(zlib.decompress(body), type=kind)
