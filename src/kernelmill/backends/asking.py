"""Asking a program in a cell, from the judge's side."""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from kernelmill.sandbox import Cell, CellProtocolError
from kernelmill.sandbox.serving import Failed

_Kind = TypeVar("_Kind")


class InsideFailed(Exception):
    """The program in a cell says that something was raised."""

    def __init__(self, failed: Failed) -> None:
        self.failed = failed
        super().__init__(f"{failed.error}: {failed.message}")


def ask(cell: Cell, body: dict[str, Any], kind: type[_Kind], seconds: float, *files: int) -> _Kind:
    """One request; files that come back uninvited are closed. Raises InsideFailed, CellFailure."""
    answer, received = ask_for_files(cell, body, kind, seconds, *files)
    close_files(received)
    return answer


def ask_for_files(
    cell: Cell, body: dict[str, Any], kind: type[_Kind], seconds: float, *files: int
) -> tuple[_Kind, list[int]]:
    message = cell.request(body, seconds, files)
    try:
        if message.body.get("type") == "failed":
            raise InsideFailed(msgspec.convert(message.body, Failed))
        return msgspec.convert(message.body, kind), message.files
    except msgspec.ValidationError as error:
        close_files(message.files)
        raise CellProtocolError(f"an answer out of form: {error}") from error


def close_files(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
