"""Values that cross a process boundary: their structure, and the file that holds their tensors."""

from typing import NamedTuple

from kernelmill.tensors.blob import Blob
from kernelmill.tensors.layout import Node


class InitArguments(NamedTuple):
    """What the reference's constructor takes, and ModelNew's must too."""

    value: Node
    tensors: Blob

    def close(self) -> None:
        self.tensors.close()


class CallArguments(NamedTuple):
    """What one call gets."""

    tensors: Blob
    """Inputs, then state."""
    inputs: Node
    """The arguments of the reference's forward; its tensors by index."""
    state: dict[str, int]
    """The reference's state dict, in its order: where in the file each tensor is."""
