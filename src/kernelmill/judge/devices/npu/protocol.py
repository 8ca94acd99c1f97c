"""Messages between the judge and the programs on an NPU."""

from typing import Any

import msgspec

from kernelmill.records.tensors import Layout


class CallResult(msgspec.Struct):
    """Outputs of a call that the runner holds; they come as a file."""

    layout: Layout
    changed: int | None = None
    """The first input that the device no longer holds as it was given."""


class ProfileRequest(msgspec.Struct):
    """Call a candidate under the profiler.

    Files: those of loading the candidate, then the tensors of the calls.
    """

    candidate: dict[str, Any]
    trial: dict[str, Any]
    calls: int


class ProfileText(msgspec.Struct):
    """What msprof wrote."""

    summary: str
    """Its table of operators; empty where it made none."""
    log: str
