"""Arguments sent between processes: their structure, and the file that holds their tensors."""

from typing import NamedTuple

from kernelmill.records.tensors import Node
from kernelmill.tensors.blob import Blob


class InitArguments(NamedTuple):
    """Constructor arguments of the reference, which ModelNew must accept too."""

    value: Node
    tensors: Blob

    def close(self) -> None:
        self.tensors.close()


class CallArguments(NamedTuple):
    """Inputs and state of one call."""

    tensors: Blob
    """The tensors of the inputs, then those of the state."""
    inputs: Node
    """The arguments of the reference's forward, with tensors by index."""
    state: dict[str, int]
    """The reference's state dict, in its order: the index of each tensor."""
