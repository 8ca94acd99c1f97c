"""Packing of records into database columns: compressed JSON."""

import zlib
from typing import Any, TypeVar

import msgspec

from kernelmill.records.errors import WorkspaceError

_T = TypeVar("_T")


def packed(value: object) -> bytes:
    return zlib.compress(msgspec.json.encode(value))


def with_keys(body: bytes, *renamed: str) -> bytes:
    """A packed body with keys renamed at any depth, given as old and new names in turn.

    An SQL function for migrations.
    """
    names = dict(zip(renamed[::2], renamed[1::2], strict=True))

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {names.get(key, key): rename(part) for key, part in value.items()}
        return [rename(part) for part in value] if isinstance(value, list) else value

    return packed(rename(unpacked(body, Any)))


def items_in(context: bytes) -> str:
    """The numbers of the items in a packed context, as a JSON list.

    An SQL function for migrations.
    """
    hints = unpacked(context, list[dict[str, Any]])
    items = [hint["item"] for hint in hints if hint.get("item") is not None]
    return msgspec.json.encode(items).decode()


def unpacked(body: bytes, record_type: type[_T]) -> _T:
    """Raises WorkspaceError where it is not what `packed` made of such a record."""
    try:
        text = zlib.decompress(body)
    except (zlib.error, TypeError) as error:
        raise _damaged(record_type, error) from error
    return decoded(text, record_type)


def decoded(text: str | bytes, record_type: type[_T]) -> _T:
    """A record from a column with JSON. Raises WorkspaceError where it is none."""
    try:
        return msgspec.json.decode(text, type=record_type)
    except (msgspec.DecodeError, TypeError) as error:
        raise _damaged(record_type, error) from error


def converted(values: dict[str, Any], record_type: type[_T]) -> _T:
    """A record from the columns of a row. Raises WorkspaceError where they are none."""
    try:
        return msgspec.convert(values, record_type)
    except msgspec.ValidationError as error:
        raise _damaged(record_type, error) from error


def _damaged(record_type: Any, error: Exception) -> WorkspaceError:
    name = getattr(record_type, "__name__", str(record_type))
    return WorkspaceError(f"a {name} in the database of the workspace is damaged: {error}")
