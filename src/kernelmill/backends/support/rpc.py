"""Typed requests to a program in a sandbox, from the judge's side."""

import os
from typing import Any, TypeVar

import msgspec

from kernelmill.sandbox import Sandbox, SandboxProtocolError
from kernelmill.sandbox.channel import close_files
from kernelmill.sandbox.serving import ProgramFailed
from kernelmill.tensors.blob import memory_file

_START_SECONDS = 60.0
_Answer = TypeVar("_Answer")


class InsideFailed(Exception):
    """The program in a sandbox reports an exception."""

    def __init__(self, failed: ProgramFailed) -> None:
        self.failed = failed
        super().__init__(f"{failed.error}: {failed.message}")


def ask(
    sandbox: Sandbox, body: dict[str, Any], answer_type: type[_Answer], seconds: float, *files: int
) -> _Answer:
    """Send a request and close any files that come back. Raises InsideFailed or SandboxFailure."""
    answer, received = ask_for_files(sandbox, body, answer_type, seconds, *files)
    close_files(received)
    return answer


def send_library(sandbox: Sandbox, library: bytes) -> None:
    """Send a program the library that it needs before its first request."""
    file = memory_file(library)
    try:
        ask(sandbox, {}, dict, _START_SECONDS, file)
    finally:
        os.close(file)


def ask_for_files(
    sandbox: Sandbox, body: dict[str, Any], answer_type: type[_Answer], seconds: float, *files: int
) -> tuple[_Answer, list[int]]:
    """Send a request; the caller closes the files. Raises InsideFailed or SandboxFailure."""
    message = sandbox.request(body, seconds, files)
    try:
        if message.body.get("type") == "failed":
            raise InsideFailed(msgspec.convert(message.body, ProgramFailed))
        return msgspec.convert(message.body, answer_type), message.files
    except msgspec.ValidationError as error:
        close_files(message.files)
        raise SandboxProtocolError(f"a malformed answer: {error}") from error
