"""Prints the native layouts of libtpu as JSON. A program for the Python of the tool chain.

    python layouts.py FOLDER SHAPE...

A shape is written 2x3x4. A layout lists the axes, the outermost first.
"""

import json
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.targets import compiler_for

_ORDER = re.compile(r"entry_computation_layout=\{\(f32\[[\d,]+\]\{([\d,]+)")


def main(folder: Path, shapes: list[str]) -> None:
    device = compiler_for(CHIPS["v5e"], folder, profiled=False)
    orders = []
    for text in shapes:
        sizes = [int(size) for size in text.split("x")]
        given = jax.ShapeDtypeStruct(sizes, jnp.float32, sharding=device)
        traced = jax.jit(lambda x: x * 2).trace(given)
        compiled = traced.lower(lowering_platforms=("tpu",)).compile()
        found = _ORDER.search(compiled.as_text())
        assert found is not None
        orders.append([int(axis) for axis in reversed(found[1].split(","))])
    print(json.dumps(orders))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
