"""Messages between the backend and its programs in sandboxes."""

import msgspec

from kernelmill.records.task import Constants


class AheadRequest(msgspec.Struct):
    """Compile a candidate's kernels for the shapes of a task."""

    sources: dict[str, str]
    task: str
    scale: str
    variants: list[Constants]
    capability: int
    """Compute capability of the GPU, times ten."""
