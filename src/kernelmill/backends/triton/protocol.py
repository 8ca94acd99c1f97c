"""What the backend asks of its programs in cells."""

import msgspec

from kernelmill.tasks.task import Constants


class AheadRequest(msgspec.Struct):
    """Compile a candidate's kernels for the shapes of a task."""

    sources: dict[str, str]
    task: str
    scale: str
    variants: list[Constants]
    capability: int
    """Of the device, times ten."""
