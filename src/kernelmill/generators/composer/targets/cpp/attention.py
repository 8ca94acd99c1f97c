"""Blocks of attention for the caches of a CPU."""

from kernelmill.generators.composer.ir.values import Attention

_NARROW = 32
_BLOCKS = "96, 256"
_NARROW_BLOCKS = "96, 128"


def blocks_of(value: Attention) -> str:
    """Queries and keys that are looked at together."""
    return _NARROW_BLOCKS if value.inputs[0].shape[3].value <= _NARROW else _BLOCKS
