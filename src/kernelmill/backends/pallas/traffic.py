"""Count of the bytes that a program moves between HBM and core. Used inside sandboxes only."""

import math
from typing import Any

import jax
import numpy as np
from jax._src import core

from kernelmill.backends.pallas.jaxpr_passes import kernel_calls


def moved_bytes(closed: core.ClosedJaxpr, compiled: Any) -> int:
    """Kernels are counted by their blocks, the rest by XLA, which does not count kernels."""
    others = int(compiled.cost_analysis().get("bytes accessed", 0))
    return others + sum(_by_blocks(equation) for equation in kernel_calls(closed.jaxpr))


def _by_blocks(equation: core.JaxprEqn) -> int:
    mapping = equation.params["grid_mapping"]
    return sum(_fetches(block, mapping) * _block_bytes(block) for block in mapping.block_mappings)


def _fetches(block: Any, mapping: Any) -> int:
    """Transfers of a block: one whenever its index differs from that of the previous step."""
    steps = int(math.prod(mapping.grid))
    if steps <= 1 or not _in_blocks(block):
        return 1
    if mapping.num_index_operands or not all(isinstance(n, int) for n in mapping.grid):
        return steps
    points = [axis.reshape(-1).astype(np.int32) for axis in np.indices(mapping.grid)]
    index_map = jax.vmap(core.jaxpr_as_fun(block.index_map_jaxpr))
    indices = np.stack([np.asarray(part) for part in index_map(*points)])
    return 1 + int(np.any(indices[:, 1:] != indices[:, :-1], axis=0).sum())


def _in_blocks(block: Any) -> bool:
    return str(block.block_aval.memory_space).lower() not in ("any", "hbm")


def _block_bytes(block: Any) -> int:
    if not _in_blocks(block):
        return _bytes(block.array_aval)
    return _bytes(block.block_aval)


def _bytes(aval: Any) -> int:
    return int(math.prod(aval.shape) * aval.dtype.itemsize)
