"""What the backend and its programs in cells agree on."""

import msgspec

from kernelmill.backends.candidate_files import WORKSHOP
from kernelmill.tasks.task import Constants

CACHE = f"{WORKSHOP}/triton"
"""Where the compiler keeps what it makes. Not from the root: Triton writes down where everything
lies, and that must be true in the cell which uses it, too."""


class AheadRequest(msgspec.Struct):
    """Compile a candidate's kernels for the shapes of a task."""

    sources: dict[str, str]
    task: str
    scale: str
    variants: list[Constants]
    capability: int
    """Of the device, times ten."""
