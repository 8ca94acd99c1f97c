"""The baseline for Triton on chips whose compiler does not read the reference."""

from collections.abc import Iterator
from itertools import product

from kernelmill.generators.composer.baselines import missing_where_declined, traced
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.emitter import EMITTER
from kernelmill.records.decisions import Catalogue, Decision, Decisions
from kernelmill.records.task import Task

_ON_ASCEND: Decisions = {"precision": "ieee", "moments": "two-pass"}
"""What Triton-Ascend compiles: it has no reductions of several values at once."""
SHRINK = Decision((1, 2, 4, 8, 16, 32), "divide the sides of all tiles, for a chip with less room")
LEAST_ROWS = Decision((1, 2), "fewest rows of a block")
"""In a block of one row, Triton-Ascend adds a loaded index to the tensor and not to the row."""
_OF_ASCEND: Catalogue = {**EMITTER.catalogue, "shrink": SHRINK, "least_rows": LEAST_ROWS}


def write_plain(task: Task) -> Iterator[dict[str, str]]:
    """Kernels in Triton, by the defaults; with ever smaller tiles; without fusion; of more rows."""
    known = set()
    for rows, fuse, shrink in product(LEAST_ROWS.choices, (True, False), SHRINK.choices):
        decided: Decisions = {"fuse": fuse, "shrink": shrink, "least_rows": rows}
        with missing_where_declined():
            plan = Plan({**_ON_ASCEND, **decided}, _OF_ASCEND)
            files = EMITTER.program(traced(task), plan).files(task)
        if files["model.py"] not in known:
            known.add(files["model.py"])
            yield files
